"""A build takes attention's kernels as it takes GEMMs: by signature, backend and arch."""

from __future__ import annotations

from pathlib import Path

from ckgen.build.wanted import KernelFilter, wanted_kernels
from ckgen.plan.options import PlanOptions
from ckgen.specs.archs import load_archs
from plan_support import GFX942

SIGNATURE = "fmha_bf16_varlen_masked_lse"


def test_every_gpu_kernel_of_a_signature_is_wanted_with_its_host_unit(tmp_path: Path) -> None:
    options = PlanOptions(targets=(GFX942,), ops=frozenset({"fmha"}), signatures=(SIGNATURE,))
    wanted = wanted_kernels(options, KernelFilter((), None), load_archs(), tmp_path)
    assert len(wanted.kernels) == len(wanted.hosts) > 5
    for kernel, host in zip(wanted.kernels, wanted.hosts, strict=True):
        assert kernel.kernel == host.kernel and kernel.kernel.startswith((f"{SIGNATURE}_ck_tile_", f"{SIGNATURE}_hip_"))
        assert not kernel.unavailable and not kernel.splits_unavailable
        maker = "CKGEN_FMHA_DECODE_KERNEL" if kernel.backend == "hip" else "CKGEN_TILE_FMHA_KERNEL"
        assert maker in kernel.text
    again = wanted_kernels(options, KernelFilter((), None), load_archs(), tmp_path)
    assert again == wanted  # kept between runs
