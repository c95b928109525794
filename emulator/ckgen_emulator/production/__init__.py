"""AMD's production assembly kernels, run as they are in AITER's wheel and held against NumPy.

A kind is a module: how the kernel's arguments lie, how its operands are prepared and launched, what is right.
"""
