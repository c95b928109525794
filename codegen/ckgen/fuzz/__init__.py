"""Random problems, each decided in Python and in C++, run on this CPU and held against the definition."""
