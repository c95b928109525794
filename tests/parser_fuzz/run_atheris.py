"""A target under atheris: `python -m parser_fuzz.run_atheris TARGET [libFuzzer's options and folders]`."""

from __future__ import annotations

import sys


def main() -> None:
    """Instruments ckgen while it is imported, then runs until libFuzzer ends."""
    import atheris

    with atheris.instrument_imports(include=["ckgen"]):
        from parser_fuzz.targets import TARGETS
    target = TARGETS[sys.argv.pop(1)]
    target.seeds()  # what it reads on first use is no part of a run
    atheris.Setup(sys.argv, target.run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
