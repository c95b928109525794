"""What must hold between the values of one arch; each breach is a located error."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from ckgen.model.arch import ArchKind, ArchSpec, MatrixInstruction, WarpTile
from ckgen.model.json_positions import Path
from ckgen.model.suggestion import did_you_mean
from ckgen.specs.reader import Reader


def check_arch(arch: ArchSpec, reader: Reader) -> None:
    """Report breaches; does nothing when the object already has errors of its own."""
    if reader.errors:
        return
    _check_skus(arch, reader)
    _check_unique(
        [(row.mnemonic, row.a, row.b, row.acc) for row in arch.matrix_instructions],
        ("matrix_instructions", "rows"),
        reader,
    )
    for backend, tiles in arch.warp_tiles.items():
        rows: Path = ("warp_tiles", backend.value, "rows")
        _check_unique([(tile.dtypes, tile.tile) for tile in tiles], rows, reader)
        for index, tile in enumerate(tiles):
            _check_warp_tile(arch, tile, (*rows, index), reader)
    _check_unique([(row.backend, row.name) for row in arch.pipelines], ("pipelines", "rows"), reader)
    if arch.kind is ArchKind.GPU:
        if arch.vgprs_per_wave > arch.vgprs_per_simd_lane:
            message = f"a wave is given {arch.vgprs_per_wave} VGPRs, of {arch.vgprs_per_simd_lane} that its SIMD has"
            reader.fail(("registers", "vgprs_per_wave"), message, code="A006")
        for waves in arch.waves_per_block:
            threads = waves[0] * waves[1] * waves[2] * arch.wave_size
            if threads > arch.max_threads_per_block:
                shape = "x".join(str(count) for count in waves)
                message = f"{shape} waves are {threads} threads, more than {arch.max_threads_per_block}"
                reader.fail(("execution", "waves_per_block"), message, code="A006")


def _check_skus(arch: ArchSpec, reader: Reader) -> None:
    defaults = sum(sku.default for sku in arch.skus)
    if defaults != 1:
        reader.fail(("skus",), f"exactly one SKU must be the default, found {defaults}", code="A006")
    _check_unique([sku.word for sku in arch.skus], ("skus",), reader)
    _check_unique([name for sku in arch.skus for name in sku.driver_names], ("skus",), reader)
    for index, sku in enumerate(arch.skus):
        if sku.physical_cus % sku.cu_num:
            message = f"{sku.physical_cus} physical CUs are no multiple of cu_num {sku.cu_num}"
            reader.fail(("skus", index, "physical_cus"), message, code="A006")
        for number, held in enumerate(sku.clusters):
            if held > sku.cu_num // (number + 1):
                message = f"{held} clusters of {number + 1} workgroups are more than {sku.cu_num} CUs make"
                reader.fail(("skus", index, "clusters", number), message, code="A006")
        for number, part in enumerate(sku.partitions):
            if part.cu_num > sku.cu_num:
                message = f"partition {part.mode} has {part.cu_num} CUs, its product {sku.cu_num}"
                reader.fail(("skus", index, "partitions", number), message, code="A006")


def _check_unique(keys: Iterable[Hashable], path: Path, reader: Reader) -> None:
    seen: dict[Hashable, int] = {}
    for index, key in enumerate(keys):
        if key in seen:
            reader.fail((*path, index), f"says the same as entry {seen[key] + 1} of '{path[0]}'", code="A006")
        seen.setdefault(key, index)


def _check_warp_tile(arch: ArchSpec, tile: WarpTile, path: Path, reader: Reader) -> None:
    """A warp tile is `issues` times a real instruction, on the same dtypes, covering the same multiply-adds."""
    known = {row.mnemonic for row in arch.matrix_instructions}
    if tile.instruction not in known:
        message = f"'{tile.instruction}' is no matrix instruction of {arch.name}"
        reader.fail((*path, "instruction"), message, code="A006", hint=did_you_mean(tile.instruction, known))
        return
    row = _instruction_for(arch, tile)
    if row is None:
        types = "·".join(str(dtype) for dtype in tile.dtypes)
        reader.fail((*path, "types"), f"'{tile.instruction}' does not compute {types}", code="A006")
        return
    wanted = tile.tile.m * tile.tile.n * tile.tile.k
    if row.macs * tile.issues != wanted:
        message = f"{tile.issues} x {row.macs} multiply-adds are not the {wanted} of {tile.tile}"
        reader.fail((*path, "issues"), message, code="A006")


def _instruction_for(arch: ArchSpec, tile: WarpTile) -> MatrixInstruction | None:
    for row in arch.matrix_instructions:
        if row.mnemonic == tile.instruction and (row.a, row.b, row.acc) == tile.dtypes:
            return row
    return None
