"""Tests of ckgen.torch are left out where torch is not installed.

The folder is not called `torch`: tests is on the path, and `import torch` would find it.
"""

from __future__ import annotations

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]
