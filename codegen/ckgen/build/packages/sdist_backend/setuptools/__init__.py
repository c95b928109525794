"""Stands in for setuptools while pip downloads an sdist: see build_meta."""
