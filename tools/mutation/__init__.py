"""Source changed in one place on purpose, and the tests that should notice: the frame, its rooms and their data."""
