"""`python -m ckgen.specs [folder]`: check every arch spec and show all errors at once."""

from __future__ import annotations

import sys
from pathlib import Path

from ckgen.model.errors import CkgenError
from ckgen.specs.archs import load_archs


def main(arguments: list[str]) -> int:
    """Exit 0 if all specs load, else the error's own exit code."""
    try:
        archs = load_archs(Path(arguments[0]) if arguments else None)
    except CkgenError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    for arch in archs.values():
        print(
            f"{arch.name}: {arch.family}, default {arch.default_cu_num}, {len(arch.matrix_instructions)} instructions"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
