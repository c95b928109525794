"""What operations share: comparisons, storage, names, shipped kernels, kernel sets. It imports no family."""
