"""Is this Config valid on this arch for this backend? Rule id, reason and numbers, never a bare bool.

The engine: families own the rules.
"""
