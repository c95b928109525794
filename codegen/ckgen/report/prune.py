"""The profile that leaves out instances that nothing chooses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def pruned_profile(never: Sequence[tuple[Any, str]], told: str) -> str:
    """A profile's YAML that keeps everything but these instances; `told` says what chose the others."""
    names = sorted(instance.name for instance, _ in never)
    lines = [
        "# Written by `ckgen report coverage --prune`. What is left out answers none of the problems that were asked,",
        "# without wishes such as deterministic; another problem that only it can run is then unsupported.",
        "name: pruned",
        f"about: {json.dumps(f'Without instances that nothing chooses, as {told} ask.', ensure_ascii=False)}",
        "keep:",
        "  - without:" if names else "  - cover: false",
        *(f"      - {name}" for name in names),
    ]
    return "\n".join(lines) + "\n"
