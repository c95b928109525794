"""From nothing to verified results: the shipped tables generated, built, selected, run and checked."""
