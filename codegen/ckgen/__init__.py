"""ckgen: arch specs and tuning tables in, a dispatching C++ kernel library out."""

from ckgen.version import __version__

__all__ = ["__version__"]
