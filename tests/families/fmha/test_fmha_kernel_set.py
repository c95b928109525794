"""Documents of op fmha in kernel sets: what they ask for, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from ckgen.families.fmha.kernel_set import SPLIT_TREE, TREE, FmhaCandidate
from ckgen.families.kernel_sets import kernel_set_files, load_kernel_set, read_kernel_set
from ckgen.model.arch import CPU_LEVELS
from ckgen.model.backend import Backend
from ckgen.model.errors import InputError

SET = """
op: fmha
name: mine
signatures: [fmha_bf16]
backend: ck_tile
targets: [gfx942]
kernels: tree
"""


def test_a_document_asks_for_named_kernels_or_all_of_the_tree() -> None:
    (tree,) = load_kernel_set(SET, "s")
    assert tree.config == TREE and len(tree.configs("gfx942")) == 21 and tree.configs("gfx1100") == ()
    assert tree.is_for("gfx942") and not tree.is_for("gfx950") and tree.location.line == 7
    text = "qr_pad1111_128x128x32x128x32x128_4x1x1_32x32x16"
    (named,) = load_kernel_set(SET.replace("tree", text).replace("[gfx942]", '"*"'), "s")
    assert not isinstance(named.config, str) and named.config.text() == text and named.is_for("gfx1201")
    assert named.configs("gfx942") == (named.config,)


def test_kernels_that_share_keys_are_a_tree_of_their_own() -> None:
    (split,) = load_kernel_set(SET.replace("tree", SPLIT_TREE), "s")
    assert split.config == SPLIT_TREE and len(split.configs("gfx942")) == 24
    (tree,) = load_kernel_set(SET, "s")
    assert not set(split.configs("gfx942")) & set(tree.configs("gfx942"))


def test_repeated_kernels_are_passed_over() -> None:
    assert len(load_kernel_set(f"{SET}---{SET}", "s")) == 1


@pytest.mark.parametrize("name", ["default", "ci", "full"])
def test_shipped_sets_hold_legal_signatures_of_each_backend(name: str) -> None:
    (file,) = kernel_set_files(Path(name), ["fmha"])
    found: tuple[FmhaCandidate, ...] = read_kernel_set(file)
    backends = {"ck_tile", "host"} | (set() if name == "ci" else {"hip"})
    assert {str(one.backend) for one in found} == backends and {one.set_name for one in found} == {name}
    assert not [one for one in found if one.signature.problems()]


@pytest.mark.parametrize("arch", CPU_LEVELS)
def test_the_full_set_of_every_cpu_level_has_slopes_and_a_cap_over_pages(arch: str) -> None:
    """What AITER's paged_attention_v1 asks for."""
    (file,) = kernel_set_files(Path("full"), ["fmha"])
    held = {
        one.signature.canonical() for one in read_kernel_set(file) if one.backend is Backend.HOST and one.is_for(arch)
    }
    assert {f"fmha_{of}_masked_{word}_blocktable" for of in ("bf16", "fp16") for word in ("alibi", "softcap")} <= held


@pytest.mark.parametrize("arch", CPU_LEVELS)
def test_defaults_of_every_cpu_level_serve_paged_caches(arch: str) -> None:
    (file,) = kernel_set_files(Path("default"), ["fmha"])
    held = {
        one.signature.canonical() for one in read_kernel_set(file) if one.backend is Backend.HOST and one.is_for(arch)
    }
    for table, varlen in product(("blocktable", "pagelist"), ("", "_varlen")):
        wanted = {f"fmha_{a}{varlen}_masked{rest}_{table}" for a in ("bf16", "fp16") for rest in ("", "_lse", "_sink")}
        wanted |= {f"fmha_{a}{varlen}_masked_{table}_vectorized" for a in ("bf16", "fp16")}
        quants = product(("fnuz", "ocp"), ("pertensor", "kvblockscale"))
        wanted |= {f"fmha_bf16_fp8_{flavour}_bf16{varlen}_masked_{quant}_{table}" for flavour, quant in quants}
        assert wanted <= held


WRONG = [
    (("kernels: tree", "kernels: [tree, qr_128]"), "error[K007] s:7: not a kernel of op fmha for backend"),
    (("ck_tile", "ck"), "error[K005] s:5: op fmha has no backend 'ck'"),
    (("ck_tile", "host"), "error[K007] s:7: not a kernel of op fmha for backend host: 'tree'"),
    (("gfx942", "gfx9"), "error[K005] s:6: unknown arch or family: 'gfx9'"),
    (("fmha_bf16", "fmha_bf17"), "error[K006] s:4: not a canonical signature"),
    (("name: mine", "nmae: mine"), "error[K003] s:3: unknown key 'nmae'"),
    (("name: mine\n", ""), "error[K004] s:2: key 'name' is missing"),
    (("[fmha_bf16]", "{masked: true}"), "key 'types' is missing from signatures"),
    (("[fmha_bf16]", "{types: bf16, maskd: true}"), "unknown key 'maskd'"),
    (("[fmha_bf16]", "{types: bf16, bias: some}"), "bias cannot be 'some'"),
    (("[fmha_bf16]", "{types: bf15}"), "not a canonical signature: 'fmha_bf15'"),
    (("[fmha_bf16]", "[]"), "error[K005] s:4: signatures must name at least one"),
    (("kernels: tree", "kernels: []"), "error[K005] s:7: kernels must name at least one"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "said"), WRONG)
def test_a_wrong_set_says_what_is_wrong_and_where(change: tuple[str, str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        load_kernel_set(SET.replace(*change), "s")
    assert any(said in found.render() for found in caught.value.diagnostics), caught.value.diagnostics


def test_what_is_said_of_wrong_sets(golden: Callable[[str, str], None]) -> None:
    texts = []
    for change, _ in WRONG:
        with pytest.raises(InputError) as caught:
            load_kernel_set(SET.replace(*change), "s")
        texts.append(str(caught.value))
    golden("families/wrong_fmha_sets.txt", "\n\n".join(texts) + "\n")


def test_products_leave_out_what_means_nothing() -> None:
    text = SET.replace("[fmha_bf16]", '{types: [bf16, fp8_bf16], bias: "*", softcap: "*", quant: [none, pertensor]}')
    names = {candidate.signature.canonical() for candidate in load_kernel_set(text, "s")}
    words = ("", "_elementwise", "_alibi", "_softcap")
    assert names == {f"fmha_bf16{word}" for word in words} | {f"fmha_fp8_bf16{word}_pertensor" for word in words}
