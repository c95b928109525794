"""Times of GEMMs from what is known of a chip and of a kernel, for targets and shapes that nobody measured."""
