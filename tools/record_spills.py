"""Take the spills and scratch that `ckgen amd-check` refused into families/gemm/device/recorded.json.

usage: record_spills.py JOURNAL   (the file of `ckgen amd-check --journal`)

What the gate refused becomes the bound, the larger of the old and the new: look at the difference before committing it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ckgen.families.gemm.device import recorded

Key = tuple[str, str, str]

_FIELDS = {"spills": "spills", "scratch": "scratch_bytes"}


def found_in(journal: str) -> dict[Key, dict[str, int]]:
    """By kernel, arch and variant: what the gate measured over its bound."""
    found: dict[Key, dict[str, int]] = {}
    for line in journal.splitlines():
        result = json.loads(line).get("result")
        for finding in result["findings"] if result is not None else ():
            if field := _FIELDS.get(finding["rule"]):
                variant = finding["variant"].split("_", 2)[2]
                found.setdefault((result["kernel"], result["arch"], variant), {})[field] = int(finding["measured"])
    return found


def main(journal: Path) -> None:
    place = Path(recorded.__file__).with_suffix(".json")
    data = json.loads(place.read_text(encoding="utf-8"))
    known = {(each["kernel"], each["arch"], each["variant"]): each for each in data["kernels"]}
    for key, measured in found_in(journal.read_text(encoding="utf-8")).items():
        entry = known.setdefault(key, dict(zip(("kernel", "arch", "variant"), key, strict=True)))
        for field in _FIELDS.values():
            entry[field] = max(entry.get(field, 0), measured.get(field, 0))
    lines = ",\n".join(f"    {json.dumps(known[key])}" for key in sorted(known))
    head = {name: value for name, value in data.items() if name != "kernels"}
    text = json.dumps(head, indent=2).removesuffix("\n}")
    place.write_text(f'{text},\n  "kernels": [\n{lines}\n  ]\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
