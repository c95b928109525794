"""Pinned packages of an index: fetched by hash, unpacked whole or not at all, checked later; and where they lie."""
