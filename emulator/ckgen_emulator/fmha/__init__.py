"""Attention, launched as its own host unit says and held against the definition."""
