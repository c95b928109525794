"""`python -m ckgen`: the same as the command `ckgen`."""

from __future__ import annotations

from ckgen.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
