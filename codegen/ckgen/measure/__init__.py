"""How fast kernels of a built library are: candidates timed in turns, each one verified, in a process of its own."""
