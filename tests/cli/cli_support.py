"""Tiny tables to run `ckgen` on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
AITER = REPOSITORY / "tuning" / "aiter"

HEADER = "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio"
SMALL = "a8w8_blockscale_1x128x128_256x64x64x256_16x16_32x32_1x1_16x16x1_16x16x1_1x32x1x8_8_1x1_intrawave_v1"
LARGE = "a8w8_blockscale_1x128x128_256x16x64x256_16x16_16x16_1x1_16x16x1_16x16x1_1x16x1x16_4_1x1_intrawave_v1"


def row(
    *,
    gfx: str = "gfx942",
    cu: int | str = 304,
    m: int | str = 16,
    n: int = 512,
    k: int = 7168,
    library: str = "ck",
    splits: str = "0",
    us: str = "4.5",
    kernel: str = SMALL,
    error: str = "0.0",
) -> str:
    """One line of a blockscale table."""
    return f"{gfx},{cu},{m},{n},{k},{library},3,{splits},{us},{kernel},1.0,2.0,{error}"


def table(*rows: str, header: str = HEADER) -> str:
    """A file's text."""
    return "".join(f"{line}\n" for line in (header, *rows))


TINY: Mapping[str, str] = {
    "t/a8w8_blockscale.csv": table(
        row(m=16),
        row(m=128, kernel=LARGE, us="11.3"),
        row(m=4096, library="flydsl", kernel="fly_64x64", splits="2", us="300"),
        row(cu=80, m=64, us="9.25"),
        row(gfx="gfx950", cu=256, m=32),
        row(m=256, us="0.0001"),
    ),
    "t/a8w8_blockscale_untuned.csv": "M,N,K\n16,512,7168\n\n32,512,7168\n",
}
"""Two rungs that can run, an external one, rows of two other targets, a refused one, and a list of shapes."""


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Writes files beneath `folder`, bytes as they are."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and time of every file below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
