"""schema/ops.yaml to the Python modules and C++ headers of the words that both languages share."""
