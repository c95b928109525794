"""A chip as the model of times sees it: numbers of arch_specs, per CU and per clock."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.dtype import DType
from ckgen.model.target import Target

SIMDS = 4
"""Of what HIP counts as a CU: a CU of CDNA, a workgroup processor of RDNA."""
_UNKNOWN_GB_PER_S = 100.0
_DWORD = 4


@dataclass(frozen=True, slots=True)
class Chip:
    """A target. `mhz`: the product's peak clock. `gb_per_s`: of its memory, a partition its share.

    `cu_scale`: physical CUs of one that HIP counts. Of a CPU `cu_num` are cores. `clusters`: how many clusters of 1, 2
    and more workgroups it holds, a workgroup a CU; of sizes beyond, as many as its CUs make.
    """

    arch: ArchSpec
    cu_num: int
    mhz: float
    gb_per_s: float
    cu_scale: float
    clusters: tuple[int, ...] = ()

    def slots(self, cluster: int) -> int:
        """Clusters of so many workgroups that it holds; at least one."""
        known = cluster <= len(self.clusters)
        return max(self.clusters[cluster - 1] if known else self.cu_num // cluster, 1)

    def ops_per_clock(self, a: DType, b: DType) -> float | None:
        """Dense operations per clock of one CU, at the slower type's rate; None for a type that it does not multiply.

        4-bit integers are widened to 8 bits.
        """
        rates = [self._rate(dtype) for dtype in (a, b)]
        known = [rate for rate in rates if rate is not None]
        return min(known) * self.cu_scale if len(known) == len(rates) else None

    @property
    def lds_bytes_per_clock(self) -> float:
        """What a CU reads of its LDS: a dword of each bank."""
        return max(self.arch.lds_banks, 1) * _DWORD

    def _rate(self, dtype: DType) -> int | None:
        peak = self.arch.peak_rate(dtype)
        return self.arch.peak_rate(DType.INT8) if peak is None and dtype is DType.INT4 else peak


def chip_of(arch: ArchSpec, target: Target, *, ghz: float | None = None, gb_per_s: float | None = None) -> Chip:
    """The chip of a target, the first of `ArchSpec.products_for`; what is given stands in place of its clock and
    bandwidth. A count that no product reports gets its share of the memory. Peaks, which nothing may beat, are those of
    the fastest product: specs/performance.py.
    """
    sku = arch.products_for(target.cu_num, target.sku)[0]
    whole = sku.cu_num if arch.kind is ArchKind.GPU else target.cu_num
    share = min(target.cu_num / whole, 1.0)
    memory = gb_per_s or (sku.memory_gb_per_s or 0) * share or _memory_of_another(arch, target.cu_num)
    mhz = ghz * 1e3 if ghz else sku.clock_mhz
    clusters = sku.clusters if sku.cu_num == target.cu_num else ()
    return Chip(arch, target.cu_num, mhz, memory, sku.physical_cus / sku.cu_num, clusters)


def _memory_of_another(arch: ArchSpec, cu_num: int) -> float:
    known = [sku for sku in arch.skus if sku.memory_gb_per_s]
    if not known:
        return _UNKNOWN_GB_PER_S
    nearest = min(known, key=lambda sku: abs(sku.cu_num - cu_num))
    return (nearest.memory_gb_per_s or 0) * min(cu_num / nearest.cu_num, 1.0)
