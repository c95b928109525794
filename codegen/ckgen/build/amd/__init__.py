"""The cross toolchain for AMD GPUs: pinned wheels or a ROCm that is there, and what its CK tree can do."""
