"""Tests of ckgen.torch are left out where torch is not installed: it is no dependency, and an extra of its own."""

from __future__ import annotations

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]
