"""What a chip is: numbers that rules, plans and generated headers read; sources live beside them in the JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache

from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType, Fp8Flavour
from ckgen.model.hash_once import HashOnce, hash_once
from ckgen.model.op_words import FLOAT8
from ckgen.model.word import Word


class ArchKind(Word):
    """GPU archs are gfx and sm names; CPU archs are x86-64 feature levels."""

    GPU = "gpu"
    CPU = "cpu"


class Vendor(Word):
    """Whose GPU runtime loads and launches an arch's code."""

    AMD = "amd"
    NVIDIA = "nvidia"


CPU_LEVELS = ("x86_64_v3", "x86_64_v4", "x86_64_v4_bf16", "x86_64_amx")
"""The CPU archs, each of which contains the one before it."""


def levels_of(gfx: str) -> tuple[str, ...]:
    """The archs whose kernels run on one: of a CPU those up to its own level, lowest first."""
    return CPU_LEVELS[: CPU_LEVELS.index(gfx) + 1] if gfx in CPU_LEVELS else (gfx,)


class LdsBasis(Enum):
    """How a pipeline's LDS budget is stated: a share of the arch's LDS or a number of bytes."""

    FRACTION = "fraction"
    BYTES = "bytes"


class BOperand(Enum):
    """What a pipeline expects of B: plain and staged in LDS, preshuffled and read past LDS, or either."""

    STAGED = "staged"
    PRESHUFFLED = "preshuffled"
    EITHER = "either"


@dataclass(frozen=True, slots=True)
class Partition:
    """A compute partition mode and the CU count that one logical device reports in it."""

    mode: str
    cu_num: int


@dataclass(frozen=True, slots=True)
class Sku:
    """A product. `cu_num` is what HIP reports (cores on a CPU); `physical_cus` is what people count.

    `driver_names`: what its vendor's runtime calls a device of it, or a CPU's vendor, family and model. `clusters`: how
    many clusters of 1, 2 and more workgroups it holds at once, a workgroup a CU; empty where all CUs take part in them.
    """

    name: str
    cu_num: int
    default: bool
    physical_cus: int
    clock_mhz: int
    memory_gb_per_s: int | None
    xcds: int
    partitions: tuple[Partition, ...]
    driver_names: tuple[str, ...] = ()
    clusters: tuple[int, ...] = ()

    @property
    def word(self) -> str:
        """Its name as targets have it: the letters, small, and the digits."""
        return product_word(self.name)

    @property
    def cu_nums(self) -> tuple[int, ...]:
        """Every CU count that it or one of its partitions reports, ascending."""
        return tuple(sorted({self.cu_num, *(part.cu_num for part in self.partitions)}))

    @property
    def hip_reported(self) -> int:
        """The multiprocessor count of the HIP device properties: the `cu_num` of a target."""
        return self.cu_num


@dataclass(frozen=True, slots=True)
class MatrixInstruction:
    """One row of the hardware's own table; `blocks` independent products are made per issue."""

    mnemonic: str
    a: DType
    b: DType
    acc: DType
    tile: Tile
    blocks: int = 1
    scaled: bool = False

    @property
    def macs(self) -> int:
        """Multiply-adds per issue."""
        return self.tile.m * self.tile.n * self.tile.k * self.blocks


@dataclass(frozen=True, slots=True)
class WarpTile:
    """A tile that a backend offers to one wave, and the hardware instruction that it issues `issues` times."""

    a: DType
    b: DType
    acc: DType
    tile: Tile
    instruction: str
    issues: int
    preshuffle: bool

    @property
    def dtypes(self) -> tuple[DType, DType, DType]:
        """The key under which a backend looks its tiles up."""
        return (self.a, self.b, self.acc)


@dataclass(frozen=True, slots=True)
class PipelineSpec:
    """A main-loop scheme of a backend: LDS budget for staging, legal schedulers, waves per block (0: no limit)."""

    name: str
    backend: Backend
    basis: LdsBasis
    budget: float
    buffers: int
    schedulers: tuple[str, ...]
    b_operand: BOperand
    max_waves: int

    def lds_budget(self, lds_bytes: int) -> int:
        """Bytes that one staging buffer of A and B may take on an arch with `lds_bytes` of LDS."""
        return int(lds_bytes * self.budget) if self.basis is LdsBasis.FRACTION else int(self.budget)


@dataclass(frozen=True, slots=True)
class CpuFeatures:
    """What a CPU arch requires from cpuid (Linux flag names) and what kernels may then use.

    `register_tiles`: such as 6x16, by what GEMM kernels multiply: f32, int8, and bf16 where that has an instruction.
    """

    vector_bits: int
    required: tuple[str, ...]
    capabilities: tuple[str, ...]
    register_tiles: Mapping[str, tuple[str, ...]] = field(hash=False)


@hash_once
@dataclass(frozen=True, slots=True)
class ArchSpec(HashOnce):
    """Everything that is known of one arch. LDS, wave and register numbers are 0 on a CPU, which has no vendor.

    processor: what the compiler is told, and a code object says; elf_machine: the same as a number in e_flags.
    aliases: other names that targets may use. compute_capability: how NVIDIA's driver names the arch, 0 for others.
    cache_scopes: memory operations say how far they reach (sc0, sc1). transposing_lds_reads: ds_read_*_tr.
    vgprs_per_simd_lane: 32-bit registers that all waves of a SIMD share, per lane of a wave (LLVM: getTotalNumVGPRs).
    vgprs_per_wave: the most of them that one wave is given (getAddressableNumVGPRs), accumulators included where they
    are of the same file; agprs_per_wave: accumulators of a file of their own. vgpr_granule: registers given at a time.
    waves_per_simd: the most that a SIMD holds. max_cluster: workgroups that one cluster may have, 1 where there are no
    clusters. fp8_sum_bits: significand bits of sums of 8-bit floats in the matrix unit. lds_bytes: of a workgroup;
    lds_bytes_per_cu: what those of a CU share. lds_copy_bytes: a lane's widest load straight to LDS, 0 for none.
    """

    name: str
    aliases: tuple[str, ...]
    kind: ArchKind
    vendor: Vendor | None
    family: str
    processor: str
    elf_machine: int
    compute_capability: int
    cache_scopes: bool
    transposing_lds_reads: bool
    wave_size: int
    max_threads_per_block: int
    max_cluster: int
    waves_per_block: tuple[tuple[int, int, int], ...]
    vgprs_per_simd_lane: int
    vgprs_per_wave: int
    agprs_per_wave: int
    vgpr_granule: int
    waves_per_simd: int
    lds_bytes: int
    lds_bytes_per_cu: int
    lds_granule: int
    lds_banks: int
    lds_copy_bytes: int
    xcds: int
    l2_bytes_per_xcd: int
    last_level_cache_bytes: int
    fp8_flavour: Fp8Flavour | None
    fp8_sum_bits: int
    ops_per_clock: Mapping[DType, int] = field(hash=False)
    skus: tuple[Sku, ...]
    matrix_instructions: tuple[MatrixInstruction, ...]
    warp_tiles: Mapping[Backend, tuple[WarpTile, ...]] = field(hash=False)
    pipelines: tuple[PipelineSpec, ...]
    cpu: CpuFeatures | None
    provenance: Mapping[str, str] = field(repr=False, compare=False)
    sources: Mapping[str, str] = field(repr=False, compare=False)
    _tiles: Mapping[tuple[Backend, tuple[DType, ...]], tuple[WarpTile, ...]] = field(
        init=False, repr=False, compare=False
    )
    _pipelines: Mapping[tuple[Backend, str], PipelineSpec] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        tiles: dict[tuple[Backend, tuple[DType, ...]], list[WarpTile]] = {}
        for backend, rows in self.warp_tiles.items():
            for row in rows:
                tiles.setdefault((backend, row.dtypes), []).append(row)
        object.__setattr__(self, "_tiles", {key: tuple(rows) for key, rows in tiles.items()})
        pipelines = {(row.backend, row.name): row for row in reversed(self.pipelines)}
        object.__setattr__(self, "_pipelines", pipelines)

    def source_of(self, section: str) -> str:
        """Where a section's values come from, for example of "lds", "skus.0" or "warp_tiles.ck_tile"."""
        return self.sources[self.provenance[section]]

    @property
    def registers_per_wave(self) -> int:
        """The most 32-bit registers of a lane that one wave is given, accumulators included."""
        return self.vgprs_per_wave + self.agprs_per_wave

    def waves_with(self, vgprs: int) -> int:
        """How many waves with so many VGPRs a SIMD holds; accumulators count where they are of the same file."""
        taken = max(1, -(-vgprs // self.vgpr_granule)) * self.vgpr_granule
        return min(self.waves_per_simd, self.vgprs_per_simd_lane // taken)

    @property
    def default_sku(self) -> Sku:
        """The product that a target without a count means."""
        return next(sku for sku in self.skus if sku.default)

    @property
    def default_cu_num(self) -> int:
        """The CU count of a target written without one."""
        return self.default_sku.cu_num

    @property
    def cu_nums(self) -> tuple[int, ...]:
        """Every CU count that a product or one of its partitions reports, ascending."""
        return tuple(sorted({cu_num for sku in self.skus for cu_num in sku.cu_nums}))

    def knows_cu_num(self, cu_num: int) -> bool:
        """Whether some product or partition of this arch reports that count; a CPU knows any number of cores."""
        return self.kind is ArchKind.CPU or cu_num in self.cu_nums

    def skus_with(self, cu_num: int) -> tuple[Sku, ...]:
        """The products that report exactly that count, partitions apart."""
        return tuple(sku for sku in self.skus if sku.cu_num == cu_num)

    def products_for(self, cu_num: int, sku: str = "") -> tuple[Sku, ...]:
        """The products that answer for a count: those that report it, else those with such a partition, else all; the
        default product first. That of a word alone where it is given."""
        named = tuple(one for one in self.skus if sku and one.word == sku)
        parts = (one for one in self.skus if cu_num in one.cu_nums)
        found = named or self.skus_with(cu_num) or tuple(parts) or self.skus
        return tuple(sorted(found, key=lambda one: not one.default))

    def words_with(self, cu_num: int) -> tuple[str, ...]:
        """The products, as targets name them, that report a count, whole or a partition of them; of a CPU those that
        cpuid tells, with any number of cores."""
        return _words_with(self, cu_num)

    def has_product(self, cu_num: int, word: str) -> bool:
        """Whether words_with has it; none is asked for where it is empty."""
        return not word or word in self.words_with(cu_num)

    def told_apart(self, cu_num: int, word: str) -> str:
        """The word of a product that reports a count; empty for the usual one, which a target without a product
        means too, and for one that does not report it."""
        usual = self.products_for(cu_num)[0].word
        return word if word != usual and word in self.words_with(cu_num) else ""

    def word_of_device(self, cu_num: int, driver_name: str) -> str:
        """The product that a driver's name for a device with that count means; empty where none is known to."""
        known = (sku for sku in self.skus if driver_name in sku.driver_names and sku.word in self.words_with(cu_num))
        return next((sku.word for sku in known), "")

    def instruction(self, mnemonic: str) -> MatrixInstruction | None:
        """The hardware row of that mnemonic, the first where several dtypes share it."""
        return next((row for row in self.matrix_instructions if row.mnemonic == mnemonic), None)

    def warp_tiles_for(
        self, backend: Backend, a: DType, b: DType, acc: DType, *, preshuffle: bool = False
    ) -> tuple[WarpTile, ...]:
        """The tiles that a backend offers for these dtypes; fp8 and bf8 are taken in the arch's flavour."""
        dtypes = tuple(dtype.resolve(self.fp8_flavour) for dtype in (a, b, acc))
        tiles = self._tiles.get((backend, dtypes), ())
        return tuple(row for row in tiles if row.preshuffle) if preshuffle else tiles

    def pipeline(self, backend: Backend, name: str) -> PipelineSpec | None:
        """A backend's pipeline by name."""
        return self._pipelines.get((backend, name))

    def peak_rate(self, dtype: DType) -> int | None:
        """Dense operations per clock of a physical CU; all 8-bit floats run at one rate. None for unknown dtypes."""
        return self.ops_per_clock.get(_rate_key(dtype))

    def peak_ops(self, dtype_a: DType, dtype_b: DType, cu_num: int) -> float | None:
        """Dense peak in operations per second of the fastest product with that count; None for unknown dtypes.

        Two dtypes run at the slower one's rate; a count that no product reports is scaled from the fastest clock.
        """
        rates = [self.peak_rate(dtype) for dtype in (dtype_a, dtype_b)]
        known = [rate for rate in rates if rate is not None]
        if len(known) < 2:
            return None
        exact = self.skus_with(cu_num)
        if exact:
            return min(known) * max(sku.physical_cus * sku.clock_mhz for sku in exact) * 1e6
        per_unit = max(sku.physical_cus * sku.clock_mhz / sku.cu_num for sku in self.skus)
        return min(known) * cu_num * per_unit * 1e6


@cache
def _words_with(arch: ArchSpec, cu_num: int) -> tuple[str, ...]:
    if arch.kind is ArchKind.CPU:
        return tuple(sku.word for sku in arch.skus if sku.driver_names)
    return tuple(sku.word for sku in arch.skus if cu_num in sku.cu_nums)


def product_word(name: str) -> str:
    """A product's name as it may stand in a list of targets: without spaces and signs."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _rate_key(dtype: DType) -> DType:
    """All 8-bit floats run at one rate."""
    return DType.FP8 if dtype in FLOAT8 else dtype
