"""Where the project's own data lies, in a source checkout as in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_WHEEL_DATA = _PACKAGE / "_data"


def root() -> Path:
    """The folder that holds templates/, arch_specs/, tuning/ and dispatcher_cpp/."""
    return _WHEEL_DATA if _WHEEL_DATA.is_dir() else _PACKAGE.parents[1]


def arch_specs_dir() -> Path:
    """One JSON per arch, and its JSON Schema."""
    return root() / "arch_specs"


def templates_dir() -> Path:
    """The jinja templates, one folder per kind of output."""
    return root() / "templates"


def tuning_dir() -> Path:
    """The shipped tuning tables; the wheel carries them all."""
    return root() / "tuning"


def shipped_tables() -> tuple[Path, ...]:
    """The layers of them, AITER's and ckgen's own; later ones win."""
    return tuning_dir() / "aiter", tuning_dir() / "ckgen"


def dispatcher_dir() -> Path:
    """The C++ library: public headers, sources, backends, cmake."""
    return root() / "dispatcher_cpp"


def package_dir() -> Path:
    """The Python package itself: the generator's own sources."""
    return _PACKAGE
