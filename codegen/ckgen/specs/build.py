"""One arch's JSON object to `ArchSpec`, through a `Reader` that keeps every error."""

from __future__ import annotations

from ckgen.model.arch import (
    ArchKind,
    ArchSpec,
    BOperand,
    CpuFeatures,
    LdsBasis,
    MatrixInstruction,
    Partition,
    PipelineSpec,
    Sku,
    Vendor,
    WarpTile,
)
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType, Fp8Flavour
from ckgen.specs.consistency import check_arch
from ckgen.specs.reader import Reader

_TILE_BACKENDS = (Backend.CK_TILE, Backend.CK)


def build_arch(reader: Reader, stem: str) -> ArchSpec:
    """The arch, and its errors in the reader; with errors the result is not to be used."""
    notes = _Provenance(reader)
    kind = reader.choice("kind", ArchKind)
    gpu = kind is ArchKind.GPU
    vendor = reader.choice("vendor", Vendor) if gpu else None
    of_ck, of_nvidia = vendor is Vendor.AMD, vendor is Vendor.NVIDIA
    name = reader.text("name", "arch")
    if name and name != stem:
        reader.fail(("name",), f"'name' is '{name}' but the file is called '{stem}.json'")
    notes.take(reader, "identity")
    code = notes.child("code") if gpu else None
    execution = notes.child("execution") if gpu else None
    registers = notes.child("registers") if gpu else None
    lds = notes.child("lds") if gpu else None
    access = notes.child("lds_access") if gpu else None
    memory = notes.child("memory")
    numerics = notes.child("numerics")
    flavour = numerics.nullable_choice("fp8_flavour", Fp8Flavour)
    hardware = notes.child("matrix_instructions")
    lds_bytes = lds.integer("bytes_per_workgroup", "lds_bytes") if lds else 0
    arch = ArchSpec(
        name=name,
        aliases=reader.words("aliases", "arch", required=False),
        kind=kind,
        vendor=vendor,
        family=reader.text("family", "word"),
        processor=code.text("processor", "processor") if code else "",
        elf_machine=code.integer("elf_machine", "elf_machine") if code else 0,
        compute_capability=code.integer("compute_capability", "count") if code and of_nvidia else 0,
        cache_scopes=code.flag("cache_scopes") if code else False,
        transposing_lds_reads=code.flag("transposing_lds_reads") if code else False,
        wave_size=execution.integer("wave_size", "count") if execution else 0,
        max_threads_per_block=execution.integer("max_threads_per_block", "count") if execution else 0,
        max_cluster=execution.integer("max_cluster", "count", default=None if of_nvidia else 1) if execution else 1,
        waves_per_block=_waves(execution, notes)
        if execution and (of_ck or "waves_per_block" in execution.value)
        else (),
        vgprs_per_simd_lane=registers.integer("vgprs_per_simd_lane", "count") if registers else 0,
        vgprs_per_wave=registers.integer("vgprs_per_wave", "count") if registers else 0,
        agprs_per_wave=registers.integer("agprs_per_wave", "count_or_none", default=0) if registers else 0,
        vgpr_granule=registers.integer("vgpr_granule", "count") if registers else 0,
        waves_per_simd=registers.integer("waves_per_simd", "count") if registers else 0,
        lds_bytes=lds_bytes,
        lds_bytes_per_cu=lds.integer("bytes_per_cu", "lds_bytes", default=lds_bytes) if lds else 0,
        lds_granule=lds.integer("granule", "count") if lds else 0,
        lds_banks=access.integer("banks", "count") if access else 0,
        lds_copy_bytes=access.integer("copy_bytes", "count_or_none") if access else 0,
        xcds=memory.integer("xcds", "count"),
        l2_bytes_per_xcd=memory.integer("l2_bytes_per_xcd", "cache_bytes"),
        last_level_cache_bytes=memory.integer("last_level_cache_bytes", "cache_bytes_or_none"),
        fp8_flavour=flavour,
        fp8_sum_bits=numerics.integer("fp8_sum_bits", "significand", default=24),
        ops_per_clock=_rates(numerics),
        skus=reader.children("skus", lambda item: _sku(item, notes), least=1),
        matrix_instructions=hardware.children("rows", lambda item: _instruction(item, flavour)),
        warp_tiles=_warp_tiles(reader, notes, flavour) if of_ck else {},
        pipelines=_pipelines(notes) if of_ck else (),
        cpu=None if gpu else _cpu(notes),
        provenance=notes.found,
        sources=notes.table,
    )
    notes.close()
    check_arch(arch, reader)
    reader.done()
    return arch


class _Provenance:
    """Reads each section's `source`, checks it against the table, and closes the sections."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.found: dict[str, str] = {}
        self.sections: list[Reader] = []
        table = reader.child("sources")
        self.table = {key: table.text(key, "prose") for key in table.keys("word")}
        table.done()

    def take(self, section: Reader, path: str) -> None:
        source = section.text("source", "word")
        if source and source not in self.table:
            message = f"source '{source}' is not in the file's 'sources'"
            self.reader.fail((*section.path, "source"), message, code="A006")
        self.found[path] = source

    def child(self, key: str, of: Reader | None = None) -> Reader:
        section = (of or self.reader).child(key)
        self.take(section, ".".join(str(part) for part in section.path))
        self.sections.append(section)
        return section

    def close(self) -> None:
        for section in self.sections:
            section.done()
        unused = set(self.table) - set(self.found.values())
        for key in sorted(unused):
            self.reader.fail(("sources", key), f"source '{key}' backs no value", code="A006")


def _waves(execution: Reader, notes: _Provenance) -> tuple[tuple[int, int, int], ...]:
    def group(item: Reader) -> tuple[tuple[int, int, int], ...]:
        notes.take(item, ".".join(str(part) for part in item.path))
        return item.triples("rows", "count")

    return tuple(sorted({row for rows in execution.children("waves_per_block", group, least=1) for row in rows}))


def _rates(numerics: Reader) -> dict[DType, int]:
    rates = numerics.child("ops_per_clock_per_cu")
    words = {dtype.value: dtype for dtype in DType}
    found = {words[key]: rates.integer(key, "rate") for key in rates.value if key in words}
    rates.expected |= set(words)
    rates.done()
    return found


def _sku(item: Reader, notes: _Provenance) -> Sku:
    notes.take(item, f"skus.{item.path[-1]}")
    cu_num = item.integer("cu_num", "count")
    bandwidth = item.integer("memory_gb_per_s", "gb_per_s", default=0)
    return Sku(
        name=item.text("name", "product"),
        cu_num=cu_num,
        default=item.flag("default"),
        physical_cus=item.integer("physical_cus", "count", default=cu_num),
        clock_mhz=item.integer("clock_mhz", "mhz"),
        memory_gb_per_s=bandwidth or None,
        xcds=item.integer("xcds", "count", default=1),
        partitions=item.children("partitions", _partition),
        driver_names=item.words("driver_names", "product", required=False),
        clusters=item.integers("clusters", "count"),
    )


def _partition(item: Reader) -> Partition:
    return Partition(item.text("mode", "mode"), item.integer("cu_num", "count"))


def _dtypes(item: Reader, flavour: Fp8Flavour | None) -> tuple[DType, DType, DType]:
    a, b, acc = (dtype.resolve(flavour) for dtype in item.choices("types", DType, count=3))
    return a, b, acc


def _instruction(item: Reader, flavour: Fp8Flavour | None) -> MatrixInstruction:
    a, b, acc = _dtypes(item, flavour)
    return MatrixInstruction(
        mnemonic=item.text("mnemonic", "word"),
        a=a,
        b=b,
        acc=acc,
        tile=Tile(*item.triple("tile", "count")),
        blocks=item.integer("blocks", "count", default=1),
        scaled=item.flag("scaled"),
    )


def _warp_tiles(reader: Reader, notes: _Provenance, flavour: Fp8Flavour | None) -> dict[Backend, tuple[WarpTile, ...]]:
    def tile(item: Reader) -> WarpTile:
        a, b, acc = _dtypes(item, flavour)
        return WarpTile(
            a=a,
            b=b,
            acc=acc,
            tile=Tile(*item.triple("tile", "count")),
            instruction=item.text("instruction", "word"),
            issues=item.integer("issues", "count"),
            preshuffle=item.flag("preshuffle"),
        )

    backends = reader.child("warp_tiles")
    sections = {backend: notes.child(backend.value, backends) for backend in _TILE_BACKENDS}
    backends.done()
    return {backend: section.children("rows", tile) for backend, section in sections.items()}


def _pipelines(notes: _Provenance) -> tuple[PipelineSpec, ...]:
    def row(item: Reader) -> PipelineSpec:
        basis = item.choice("basis", LdsBasis)
        budget = item.number("budget", "budget")
        if basis is LdsBasis.FRACTION and budget > 1:
            item.fail((*item.path, "budget"), "a budget that is a fraction of LDS must not exceed 1", code="A006")
        return PipelineSpec(
            name=item.text("name", "word"),
            backend=item.choice("backend", Backend),
            basis=basis,
            budget=budget,
            buffers=item.integer("buffers", "count"),
            schedulers=item.words("schedulers", "word"),
            b_operand=item.choice("b_operand", BOperand),
            max_waves=item.integer("max_waves", "count_or_none", default=0),
        )

    return notes.child("pipelines").children("rows", row)


def _cpu(notes: _Provenance) -> CpuFeatures:
    section = notes.child("cpu")
    return CpuFeatures(
        section.integer("vector_bits", "count"),
        section.words("required", "word"),
        section.words("capabilities", "word"),
        _register_tiles(section.child("register_tiles")),
    )


def _register_tiles(section: Reader) -> dict[str, tuple[str, ...]]:
    tiles = {"f32": section.words("f32", "register_tile"), "int8": section.words("int8", "register_tile")}
    tiles["bf16"] = section.words("bf16", "register_tile", required=False)
    section.done()
    return tiles
