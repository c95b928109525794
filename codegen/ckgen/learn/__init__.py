"""Decision rules from measurements: fitted to tables, held against what they never saw, written as data."""
