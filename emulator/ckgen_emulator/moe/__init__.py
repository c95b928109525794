"""The two products of a mixture of experts, one device kernel at a time: its own host unit prepares the launch."""
