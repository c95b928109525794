"""What a chip can do at most, and where each number is from: the roofs that measured times are held against."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.model.arch import ArchSpec, Sku
from ckgen.model.dtype import DType
from ckgen.model.target import Target


@dataclass(frozen=True, slots=True)
class Peaks:
    """Of one target: bytes per second of memory, None where no product tells it; bytes that its caches hold together.

    `rate_source`, `clock_source` and `memory_source` say where operations per clock, the clock and the bandwidth are
    from; `cache_source` the same of caches.
    """

    arch: ArchSpec
    cu_num: int
    bytes_per_s: float | None
    cache_bytes: int
    rate_source: str
    clock_source: str
    memory_source: str
    cache_source: str

    def ops_per_s(self, a: DType, b: DType) -> float | None:
        """Dense operations per second of matrix units for these operands; None for types without a rate."""
        return self.arch.peak_ops(a, b, self.cu_num)

    def least_us(self, a: DType, b: DType, operations: int, size: int) -> float:
        """The time in microseconds that no kernel beats: by operations, and by the bytes that no cache can hold.

        `size` counts bytes that are read or written at least once; as many as fit in caches may be there already.
        """
        rate = self.ops_per_s(a, b)
        by_rate = operations / rate if rate else 0.0
        by_memory = max(size - self.cache_bytes, 0) / self.bytes_per_s if self.bytes_per_s else 0.0
        return 1e6 * max(by_rate, by_memory)


def peaks_of(arch: ArchSpec, target: Target) -> Peaks:
    """The peaks of a target: its product's, or of the products that answer for its CU count the fastest."""
    products = arch.products_for(target.cu_num, target.sku)
    clock = max(products, key=lambda sku: sku.physical_cus * sku.clock_mhz)
    memory = max(products, key=lambda sku: sku.memory_gb_per_s or 0)
    bandwidth = memory.memory_gb_per_s
    return Peaks(
        arch=arch,
        cu_num=target.cu_num,
        bytes_per_s=bandwidth * 1e9 if bandwidth else None,
        cache_bytes=arch.last_level_cache_bytes + arch.xcds * arch.l2_bytes_per_xcd,
        rate_source=arch.source_of("numerics"),
        clock_source=_source(arch, clock),
        memory_source=_source(arch, memory) if bandwidth else "",
        cache_source=arch.source_of("memory"),
    )


def _source(arch: ArchSpec, sku: Sku) -> str:
    return f"{sku.name}: {arch.source_of(f'skus.{arch.skus.index(sku)}')}"
