"""The GPU kernels of a kernel set, as a check takes them: each on its archs, with a use of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from ckgen.build.device_code import BACKENDS, device_code
from ckgen.build.named import NamedKernel
from ckgen.build.wanted import is_legal
from ckgen.families.common.device.unit import Use
from ckgen.families.gemm.config import strategy_of
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.kernel_set import KernelCandidate
from ckgen.families.gemm.problem_rules import check, supports
from ckgen.families.gemm.signature import module_of
from ckgen.families.registry import make_instance
from ckgen.model.arch import ArchSpec
from ckgen.model.tuned_row import Shape

_BATCH = 2
_FEW_CUS = 4
"""Of 3 x 3 tiles, stream-K shares five between four workgroups that first compute one each; persistent workgroups of
grouped kernels have several tiles each."""
_SPLITS = 2
_K_TILES = (5, 6, 8, 12, 18)


def set_kernels(
    candidates: Iterable[KernelCandidate], archs: Mapping[str, ArchSpec], wanted: Sequence[str]
) -> tuple[NamedKernel, ...]:
    """Every GPU kernel of the candidates on the `wanted` archs, by document, backend, name and arch.

    `module` is the name of the set's document. The one use has tails along M, N and K where the kernel takes them, two
    splits of K where it can split, and for stream-K tiles of all kinds on few CUs; a grouped kernel too runs on few. A
    kernel that takes no such problem has no use, and all of its variants.
    """
    found: dict[tuple[str, str, str, str], NamedKernel] = {}
    for candidate, arch in product(candidates, wanted):
        if candidate.backend not in BACKENDS or not candidate.is_for(arch):
            continue
        spec = archs[arch]
        signature = candidate.signature.resolved(spec.fp8_flavour)
        instance = make_instance(
            signature,
            candidate.config,
            module=module_of(signature) or "",
            table_kernel=candidate.table_kernel,
            archs=(arch,),
        )
        if is_legal(instance, spec):
            place = (candidate.set_name, str(candidate.backend), instance.name, arch)
            uses = tuple(_uses(instance, arch))[:1]
            shares = strategy_of(candidate.config).is_stream_k or signature.op is Op.GROUPED_GEMM
            cu_num = _FEW_CUS if shares else 0
            found[place] = NamedKernel(*place, instance=instance, uses=uses, rows=0, signatures=1, cu_num=cu_num)
    return tuple(found[place] for place in sorted(found))


def _uses(instance: Instance, arch: str) -> Iterator[Use]:
    """Problems that the instance takes, those with splits and the most tails first."""
    tile, asks = instance.config.macro_tile, instance.constraints
    whole = 2 if strategy_of(instance.config).is_stream_k else 1
    batch = _BATCH if instance.signature.batched else 0
    can_split = asks.max_k_batch > 1 and device_code(instance).splits_unavailable(arch) is None
    splits = (_SPLITS, 1) if can_split else (1,)
    rests = [(multiple or 1) if (multiple or 1) < size else 0 for multiple, size in _multiples(instance)]
    tails = sorted(product(*({rest, 0} for rest in rests)), key=lambda each: -sum(map(bool, each)))
    for k_batch, tail, k_tiles in product(splits, tails, _K_TILES):
        m, n, k = (whole * tile.m + tail[0], whole * tile.n + tail[1], k_tiles * tile.k + tail[2])
        shape = Shape(batch, m, n, k)
        if check(instance.signature, shape) is None and supports(asks, shape, k_batch) is None:
            yield Use(shape, k_batch)


def _multiples(instance: Instance) -> tuple[tuple[int, int], ...]:
    tile, asks = instance.config.macro_tile, instance.constraints
    return ((asks.m_multiple, tile.m), (asks.n_multiple, tile.n), (asks.k_multiple, tile.k))
