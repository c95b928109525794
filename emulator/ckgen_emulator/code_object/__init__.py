"""Any kernel of any code object, launched as a file says."""
