"""Mutations: machine code changed in one place, to measure what the emulator's checks and the comparisons catch.

A facility for those who work on the checker, not for users. It lies in ckgen and not beside the tests because a tool
and a test share it, and so that it is type-checked with what it drives.
"""
