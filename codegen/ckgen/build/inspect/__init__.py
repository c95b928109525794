"""What is in an AMDGPU code object, and whether that is what its Config means."""
