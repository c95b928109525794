"""CDNA code objects executed on the CPU, and checked while they run."""
