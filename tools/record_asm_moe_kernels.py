"""Take the assembly MoE kernels that shipped tables name from the pinned amd-aiter wheel into families/moe.

usage: record_asm_moe_kernels.py [WHEEL [OUT]]   (default: the wheel that `ckgen toolchain amd` downloaded)

Facts only: names from the tables, digests and resources from the wheel's code objects, of both archs where it has both.
"""

from __future__ import annotations

import csv
import io
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ckgen import paths
from ckgen.families.moe import asm_kernels
from record_asm_kernels import code_object, record

_ROOT = "aiter_meta/hsa"
_RECORDED = Path(asm_kernels.__file__).with_suffix(".json")
_SYMBOL = re.compile(r"_ZN5aiter\d+(?P<name>\w+)E$")


def named() -> tuple[str, ...]:
    """Symbols of the tables that are of a kind which ckgen calls, sorted."""
    found: set[str] = set()
    for file in sorted(paths.tuning_dir().rglob("*fmoe*.csv")):
        with file.open(encoding="utf-8", newline="") as text:
            for row in csv.DictReader(text):
                found |= {row.get(column) or "" for column in ("kernelName1", "kernelName2")}
    symbols = ((symbol, _SYMBOL.match(symbol)) for symbol in found)
    return tuple(sorted(symbol for symbol, said in symbols if said and asm_kernels.NAME.match(said["name"])))


def kernels(wheel: zipfile.ZipFile) -> Iterator[dict[str, Any]]:
    """Every named kernel that the wheel has, with its code object of each arch."""
    places = {name.rpartition("/")[2].removesuffix(".co") + "/" + name.split("/")[2]: name for name in wheel.namelist()
              if name.startswith(_ROOT) and name.endswith(".co")}  # fmt: skip
    for symbol in named():
        said = _SYMBOL.match(symbol)
        assert said is not None
        name = said["name"]
        found = {arch: places[f"{name}/{arch}"] for arch in ("gfx942", "gfx950") if f"{name}/{arch}" in places}
        if found:
            yield {
                "symbol": symbol,
                "name": name,
                "groups_per_cu": _groups(wheel, next(iter(found.values())), symbol) if "_ps_" in name else 0,
                "objects": [code_object(wheel, arch, path, symbol) for arch, path in found.items()],
            }


def _groups(wheel: zipfile.ZipFile, path: str, symbol: str) -> int:
    """Workgroups per CU that the table beside the code object says."""
    folder = path.rpartition("/")[0]
    for name in wheel.namelist():
        if name.startswith(folder) and name.endswith(".csv"):
            for row in csv.DictReader(io.StringIO(wheel.read(name).decode("ascii"))):
                if row["knl_name"] == symbol:
                    return int(row["tg_num_perCU"])
    raise ValueError(f"no table of {folder} names {symbol}")


def main(file: Path | None = None, place: Path = _RECORDED) -> None:
    about = "AMD's MoE kernels in assembly that shipped tables name: written by tools/record_asm_moe_kernels.py."
    record(kernels, about, file, place)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
