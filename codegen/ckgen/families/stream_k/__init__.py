"""Stream-K: GEMMs whose workgroups share the K iterations of tiles."""
