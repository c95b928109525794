"""Take the assembly GEMM kernels of the pinned amd-aiter wheel into families/gemm/asm_kernels.json.

usage: record_asm_kernels.py [WHEEL [OUT]]   (default: the wheel that `ckgen toolchain amd` downloaded)

Facts only: names and tiles from the wheel's tables, digests and resources from its code objects.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckgen.build.amd.pins import Role, pins
from ckgen.build.amd.toolchain import load
from ckgen.build.inspect.code_object import Source, read_code_object
from ckgen.families.gemm import asm_kernels

_ROOT = "aiter_meta/hsa"
_RECORDED = Path(asm_kernels.__file__).with_suffix(".json")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the wheel: its kind's folder and name, and the columns that tell a kernel; `splits` may be absent."""

    kind: str
    file: str
    tile: tuple[str, str]
    symbol: str
    file_of: str
    splits: str
    wanted: Mapping[str, str]


TABLES = (
    Table("f4gemm", "f4gemm_bf16_per1x32Fp4", ("tile_m", "tile_n"), "knl_name", "co_name", "splitK",
          {"bpreshuffle": "1"}),
    Table("bf16gemm", "bf16gemm_outf32", ("tileM", "tileN"), "knl_name", "knl_file", "", {"tn": "1"}),
)  # fmt: skip


def kernels(wheel: zipfile.ZipFile) -> Iterator[dict[str, Any]]:
    """Every kernel of the tables, once per name, with its code object of each arch."""
    found: dict[str, dict[str, Any]] = {}
    for table in TABLES:
        for arch in ("gfx942", "gfx950"):
            place = f"{_ROOT}/{arch}/{table.kind}"
            text = wheel.read(f"{place}/{table.file}.csv").decode("ascii")
            for row in csv.DictReader(io.StringIO(text)):
                if any(row[column] != value for column, value in table.wanted.items()):
                    continue
                symbol = row[table.symbol]
                entry = found.setdefault(
                    symbol,
                    {
                        "symbol": symbol,
                        "kind": table.kind,
                        "name": row[table.file_of].removesuffix(".co"),
                        "tile": [int(row[column]) for column in table.tile],
                        "splits": not table.splits or row[table.splits] == "1",
                        "objects": [],
                    },
                )
                entry["objects"].append(code_object(wheel, arch, f"{place}/{row[table.file_of]}", symbol))
    yield from sorted(found.values(), key=lambda entry: (entry["kind"], *entry["tile"]))


def code_object(wheel: zipfile.ZipFile, arch: str, path: str, symbol: str) -> dict[str, Any]:
    """One code object; ValueError where it is not of the arch or holds other kernels than that one."""
    data = wheel.read(path)
    read = read_code_object(Source(path, data))
    if read.arch != arch or [kernel.name for kernel in read.kernels] != [symbol]:
        raise ValueError(f"{path} is of {read.arch} and holds {[kernel.name for kernel in read.kernels]}")
    taken = read.kernels[0].resources
    return {
        "arch": arch,
        "path": path,
        "sha256": hashlib.sha256(data).hexdigest(),
        "kernarg": taken.kernarg,
        "lds": taken.lds,
        "block": taken.max_workgroup,
    }


def record(
    kernels: Callable[[zipfile.ZipFile], Iterable[dict[str, Any]]], about: str, file: Path | None, place: Path
) -> None:
    """Writes what `kernels` finds in the pinned wheel, a line each; SystemExit for a file that is not that wheel."""
    pin = pins()[Role.CK]
    file = file or load().prefix / "downloads" / pin.file
    if hashlib.sha256(file.read_bytes()).hexdigest() != pin.sha256:
        raise SystemExit(f"{file} is not the pinned wheel")
    with zipfile.ZipFile(file) as wheel:
        lines = ",\n".join(f"    {json.dumps(entry)}" for entry in kernels(wheel))
    head = {"about": about, "package": pin.name, "version": pin.version, "sha256": pin.sha256}
    text = json.dumps(head, indent=2).removesuffix("\n}")
    place.write_text(f'{text},\n  "kernels": [\n{lines}\n  ]\n}}\n', encoding="utf-8")


def main(file: Path | None = None, place: Path = _RECORDED) -> None:
    about = "AMD's GEMM kernels in assembly: written by tools/record_asm_kernels.py. Bytes; block in work-items."
    record(kernels, about, file, place)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
