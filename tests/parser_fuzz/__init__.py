"""Everything in Python that reads what others wrote, as functions of any bytes: see `target.py`."""
