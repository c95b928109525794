"""Tuned tables from measurements: a journal of every candidate, the winners of it, what they are compared with."""
