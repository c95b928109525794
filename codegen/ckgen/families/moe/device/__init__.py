"""Device code of mixture-of-experts instances."""
