"""The time of a GEMM on a GPU, from what is known of the chip and of the kernel."""
