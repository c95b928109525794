"""Device code of attention instances."""
