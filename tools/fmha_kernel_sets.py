"""The attention kernels that tools/run_fmha_kernels.py runs: signatures, Configs of the pinned tree, and archs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ckgen.families.fmha.append_config import HipAppendConfig
from ckgen.families.fmha.append_problem import appends
from ckgen.families.fmha.grammar import AnyFmhaConfig
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.rules.append import ROWS
from ckgen.families.fmha.signature import parse_signature
from ckgen.families.fmha.tree import append_configs, tree_configs
from ckgen.families.registry import make_instance
from ckgen.families.rules import judge
from ckgen.specs.archs import load_archs


@dataclass(frozen=True, slots=True)
class Set:
    """Signatures, 8-bit types in the arch's flavour; globs of Configs, of which the tree has each that fits; archs.

    `splits`: of the tree of those that share keys among workgroups.
    """

    signatures: tuple[str, ...]
    configs: tuple[str, ...]
    archs: tuple[str, ...]
    splits: bool = False


_BOTH, _OTHERS = ("gfx942", "gfx950"), ("gfx90a", "gfx1201")
_64, _128 = "qr*_pad1111_*x64x??x64_*", "qr*_pad1111_*x128x??x128_*"
_OPTIONS = (
    "bf16_varlen_masked_alibi_lse", "fp16_elementwise_lse", "bf16_masked_elementwise", "bf16_masked_softcap_lse",
    "fp16_varlen_softcap", "bf16_lse_dropout",
)  # fmt: skip
_APPEND = ("bf16_append_rope_half", "bf16_append_blocktable_rope_interleaved", "fp16_append_blocktable")
_APPEND_OURS = (
    "bf16_append_blocktable_rope_half", "fp16_append_varlen_pagelist_vectorized_rope_interleaved",
    "bf16_fp8_bf16_append_pertensor_blocktable_rope_half", "fp32_append_varlen_vcolumn_rope_half",
    "fp16_fp8_fp16_append_kvblockscale_pagelist_vectorized",
)  # fmt: skip
_PAGED, _GATHER = "qr_pagedkv_*", "qr_async_gather_*"
_PAGED_OPTIONS = (
    "bf16_varlen_masked_alibi_blocktable",
    "fp16_elementwise_blocktable",
    "bf16_varlen_masked_softcap_blocktable",
)
_SPLIT_BIAS = ("bf16_masked_elementwise", "fp16_varlen_masked_alibi_lse")
_SPLIT_OPTIONS = ("bf16_varlen_masked_lse", *_SPLIT_BIAS)
_SPLIT_HEADS = tuple(f"qr_splitkv_pad1111_*{heads}_*" for heads in ("x32x??x32", "x128x??x96", "x256x??x256"))
SETS = (
    Set(("bf16_varlen_masked_lse",), (_64, _128), (*_BOTH, *_OTHERS)),
    Set(("fp16_varlen_masked_lse",), (_64, _128), ("gfx942",)),
    Set(("bf16_masked",), ("qr_async_trload_pad0000_*", "qr_async_trload_pad0011_*x64_*"), ("gfx950",)),
    Set(_OPTIONS, (_64,), ("gfx942",)),
    Set(("fp32_masked_lse",), ("qr_pad1111_64x*x64x??x64_*",), _BOTH),
    Set(("fp8_bf16_varlen_masked_pertensor",), ("qr_pad1100_*x128_*",), _BOTH),
    Set(("bf16_varlen_masked_lse",), ("qr_pad1111_*x256x??x256_*",), _BOTH),
    Set(("fp32_masked_lse",), ("qr_pad1111_128x*x128x??x128_*",), ("gfx942",)),
    Set(("bf16_varlen_masked_lse",), ("*_pad1111_*x32x??x32_*", "*_pad1111_*x96_*", "*_pad1111_*x192_*"), ("gfx942",)),
    Set(_OPTIONS, (_128,), ("gfx950",)),
    Set(("fp8_bf16_varlen_masked_pertensor",), ("qr_pad1100_*x64_*",), _BOTH),
    Set(("bf16",), ("qr_async_pad1?11_*x64x??x64_*",), _BOTH),
    Set(("fp16",), (_128,), _BOTH),
    Set(("bf16_masked_lse",), ("qr_pad0000_*x64x??x64_*",), ("gfx1201",)),
    Set(("fp8_bf16_masked_pertensor",), ("qr_pad1100_*x64_*",), ("gfx1201",)),
    Set(("bf16_varlen",), ("qr_pad1100_*x256x??x256_*",), ("gfx942",)),
    Set(("bf16_varlen_masked_lse",), ("qr_splitkv_pad1100_*x128x??x128_*",), _BOTH, splits=True),
    Set(("fp16_lse_blocktable",), ("qr_splitkv_merged_pad1100_*",), _BOTH, splits=True),
    Set(("fp8_bf16_varlen_masked_pertensor",), ("qr_splitkv_pad1100_*x64_*",), _BOTH, splits=True),
    Set(("bf16_varlen_masked_blocktable",), ("qr_splitkv_pad1111_*x64x??x64_*",), ("gfx942",), splits=True),
    Set(("fp16_masked_softcap_lse_blocktable",), ("qr_splitkv_pad1100_*x64x??x64_*",), ("gfx950",), splits=True),
    Set(_SPLIT_OPTIONS, _SPLIT_HEADS, _BOTH, splits=True),
    Set(_SPLIT_BIAS, ("qr_splitkv_pad1100_*x64x??x64_*", "qr_splitkv_pad1100_*x128x??x128_*"), _BOTH, splits=True),
    Set(("bf16_lse",), ("qr_splitkv_pad1000_*x64x??x64_*",), ("gfx942",), splits=True),
    Set(("fp8_bf16_varlen_masked_pertensor",), ("qr_splitkv_pad1100_*x128_*",), _BOTH, splits=True),
    Set(
        ("fp16_varlen_masked_lse",),
        ("qr_splitkv_pad1100_*x64x??x64_*", "qr_splitkv_pad1100_*x128x??x128_*"),
        _OTHERS,
        splits=True,
    ),
    Set(("fp16_masked_blocktable",), ("qr_splitkv_pad1100_*x128x??x128_*",), _OTHERS, splits=True),
    Set(("fp16_lse_blocktable",), ("qr_splitkv_merged_pad1100_*",), _OTHERS, splits=True),
    Set(_APPEND, ("append_pad1111_*x128",), _BOTH),
    Set(("bf16_append_blocktable_rope_half",), ("append_pad*_*x64",), ("gfx942",)),
    Set(("bf16_append_rope_interleaved",), ("append_pad1111_*x32", "append_pad1111_*x256"), ("gfx942",)),
    Set(_APPEND_OURS, ("append_8",), (*_BOTH, *_OTHERS, "gfx1100")),
    Set(("bf16_varlen_masked_lse_pagelist",), (_GATHER,), _BOTH),
    Set(tuple(f"{words}_pagelist" for words in _OPTIONS), (f"{_GATHER}_32x32x16",), ("gfx942",)),
    Set(("bf16_varlen_masked_blocktable",), (_PAGED,), _BOTH),
    Set(("fp8_varlen_masked_pertensor_blocktable",), (f"{_PAGED}x128x??x128_*",), _BOTH),
    Set(_PAGED_OPTIONS, (_PAGED,), ("gfx942",)),
    Set(("fp16_varlen_masked_lse_blocktable",), (_GATHER,), ("gfx950",)),
    Set(("fp16_varlen_masked_blocktable",), (f"{_PAGED}x128x??x128_*",), _OTHERS),
    Set(("fp16_varlen_masked_lse_pagelist",), (_GATHER,), ("gfx90a",)),
)
"""The Configs of a glob are the tree's that the rules take."""


def instances() -> Iterator[tuple[FmhaInstance, str]]:
    """Every instance of SETS with every arch of it, each pair once."""
    seen = set()
    for one in SETS:
        for arch in one.archs:
            for words in one.signatures:
                for config in configs(words, one.configs, arch, splits=one.splits):
                    signature = parse_signature(f"fmha_{words}", load_archs()[arch].fp8_flavour)
                    instance = make_instance(signature, config, (arch,))
                    if (instance.name, arch) not in seen:
                        seen.add((instance.name, arch))
                        yield instance, arch


def configs(words: str, globs: tuple[str, ...], arch: str, *, splits: bool) -> Iterator[AnyFmhaConfig]:
    """The Configs of the tree, and ours that append, that are named like a glob and that the rules take."""
    spec = load_archs()[arch]
    signature = parse_signature(f"fmha_{words}", spec.fp8_flavour)
    known: tuple[AnyFmhaConfig, ...] = tree_configs(signature, arch, splits=splits)
    if appends(signature.traits):
        known = (*append_configs(signature, arch), HipAppendConfig(ROWS))
    for config in known:
        if any(fnmatchcase(config.text(), glob) for glob in globs) and not judge(
            signature, config, config.backend, spec
        ):
            yield config
