"""The probes tell two real CK trees apart as their sources do, and notice a change of a header."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from amd_support import amd_toolchain, missing
from ckgen.build.amd import capabilities as under_test
from ckgen.build.amd.capabilities import (
    SHIPPED,
    Capabilities,
    capabilities,
    document,
    judge,
    known_capabilities,
    shipped_key,
)
from ckgen.build.amd.model import AmdToolchain
from ckgen.build.amd.probe_list import BASES, FOLDER, Alternative, Probe, probes
from ckgen.build.amd.toolchain import over_older_tree
from ckgen.build.amd.trees import ck_tree_in
from ckgen.model.errors import InputError

HEADERS = Path("ck_tile/ops/gemm/pipeline")


def older() -> AmdToolchain:
    try:
        return over_older_tree(amd_toolchain())
    except InputError:
        missing("the older CK tree is not prepared: run `ckgen toolchain amd --also older-ck`")


def declared(toolchain: AmdToolchain, text: str) -> bool:
    """Whether some header of the tree holds the text: what the probes' answers are held against."""
    files = (path for name in ("ck", "ck_tile") for path in (toolchain.ck.includes[0] / name).rglob("*.hpp"))
    return any(text in path.read_text(encoding="utf-8", errors="replace") for path in files)


def test_probes_are_told_apart() -> None:
    names = [probe.id for probe in probes()]
    assert len(names) == len(set(names)) > 40
    for probe in probes():
        assert probe.base in BASES and probe.id.startswith(f"{probe.base}.") and probe.what
        values = [alternative.value for alternative in probe.alternatives]
        assert len(values) == len(set(values)) or set(values) == {"yes"}
        assert all(len(line) < 400 for alternative in probe.alternatives for line in alternative.code)
    for base in BASES:
        assert (FOLDER / f"{base}.hpp").is_file()


def test_directives_stand_before_the_namespace() -> None:
    unit = Alternative("yes", ("using A = int;", "#include <x>", "using B = A;")).unit()
    assert unit.splitlines() == ["#include <x>", "namespace probe {", "using A = int;", "using B = A;", "}"]


def both_trees() -> tuple[AmdToolchain, AmdToolchain]:
    return amd_toolchain(), older()


@pytest.mark.amd
def test_the_pinned_trees_need_no_judging() -> None:
    for toolchain in both_trees():
        elsewhere = dataclasses.replace(toolchain, prefix=Path("nowhere"), libstdcxx="another", headers_id="others")
        found = known_capabilities(elsewhere)
        assert found is not None, "the probes have changed: pytest -m long --update-goldens tests/build/amd"
        assert known_capabilities(dataclasses.replace(elsewhere, compiler_id="0")) is None
        assert list(found.values) == [probe.id for probe in probes()]


@pytest.mark.amd
@pytest.mark.slow
@pytest.mark.parametrize("tree", range(2), ids=["pinned", "older"])
def test_what_is_shipped_is_what_probes_find(tree: int) -> None:
    """Of probes that compile fast; `-m long` asks all."""
    toolchain = both_trees()[tree]
    shipped = known_capabilities(dataclasses.replace(toolchain, prefix=Path("nowhere")))
    assert shipped is not None
    asked = subset(
        *("ck_tile.epilogue.cshuffle", "ck_tile.problem.universal", "ck_tile.pipeline.preshuffle_v2"),
        *("ck_tile.quant.ab_grouped", "ck_tile.traits.layouts", "ck_tile.warp.fp4_scaled"),
    )
    found = judge(toolchain, asked=asked)
    assert len(found.values) == 6 and len(set(found.values.values())) > 3
    assert found.values == {name: shipped.value(name) for name in found.values}
    assert found.errors == {name: error for name, error in shipped.errors.items() if name in found.values}


@pytest.mark.amd
@pytest.mark.long
def test_all_that_is_shipped_is_what_probes_find(golden: Callable[[str, str], None]) -> None:
    about = "What the CK trees of the pinned wheels can do: `judge` of both, by the pinned compiler, for MI355X."
    trees = {shipped_key(toolchain): document(judge(toolchain)) for toolchain in both_trees()}
    golden(str(SHIPPED), json.dumps({"about": about, "trees": trees}, indent=1) + "\n")


@pytest.mark.amd
@pytest.mark.slow
def test_the_pinned_tree_is_judged_as_its_sources_say() -> None:
    toolchain = amd_toolchain()
    found = capabilities(toolchain)
    assert not found.unjudged and set(found.values) == {probe.id for probe in probes()}
    assert found.value("ck_tile.epilogue.cshuffle") == "memory_operation"
    assert found.value("ck_tile.problem.universal") == "hot_loop,tail,elementwise,compute"
    assert found.value("ck_tile.stream_k") == "reboot"
    assert found.value("ck.gridwise") == "GridwiseGemm64"
    names(toolchain, found)


@pytest.mark.amd
@pytest.mark.slow
def test_the_older_tree_is_judged_as_its_sources_say() -> None:
    toolchain = older()
    found = capabilities(toolchain)
    assert not found.unjudged
    assert found.value("ck_tile.epilogue.cshuffle") == "block_size,memory_operation"
    assert found.value("ck_tile.problem.universal") == "hot_loop,tail,compute"
    assert found.value("ck_tile.quant.a_grouped") == "own kernel"
    assert found.value("ck_tile.stream_k") == "none"
    assert found.value("ck.gridwise") == "GridwiseGemm"
    names(toolchain, found)


def names(toolchain: AmdToolchain, found: Capabilities) -> None:
    """Capabilities that stand and fall with one name in the sources."""
    for probe, text in {
        "ck_tile.pipeline.mem": "struct GemmPipelineAgBgCrMem ",
        "ck_tile.pipeline.compv5": "struct GemmPipelineAgBgCrCompV5 ",
        "ck_tile.pipeline.compv6": "struct GemmPipelineAgBgCrCompV6 ",
        "ck_tile.pipeline.comp_async": "struct GemmPipelineAgBgCrCompAsync ",
        "ck_tile.pipeline.preshuffle_v1": "struct WeightPreshufflePipelineAGmemBGmemCRegV1",
        "ck_tile.pipeline.preshuffle_v2": "struct WeightPreshufflePipelineAGmemBGmemCRegV2",
        "ck_tile.quant.b_grouped": "BQuantGrouped",
        "ck_tile.quant.ab_grouped": "ABQuantGrouped",
        "ck_tile.quant.row_col": "RowColQuant",
        "ck_tile.kernel.multi_abd": "struct GemmKernelMultiABD",
        "ck_tile.kernel.grouped_quant": "struct QuantGroupedGemmKernel",
        "ck.op.mx": "struct DeviceGemmMX_Xdl_CShuffleV3 ",
        "ck.op.blockscale.k_batch": "scale_a_k_split_offset",
    }.items():
        assert found.has(probe) == declared(toolchain, text), probe


def subset(*names: str) -> Sequence[Probe]:
    return [probe for probe in probes() if probe.id in names]


@pytest.mark.amd
@pytest.mark.slow
def test_a_changed_header_is_noticed(tmp_path: Path) -> None:
    toolchain = amd_toolchain()
    copy = tmp_path / "include"
    shutil.copytree(toolchain.ck.includes[0] / "ck_tile", copy / "ck_tile")
    traits = copy / HEADERS / "tile_gemm_traits.hpp"
    before = traits.read_text()
    traits.write_text(before.replace("bool Preshuffle_            = false", "typename Preshuffle_ = void"))
    traits.write_text(
        traits.read_text().replace(
            "constexpr bool Preshuffle            = Preshuffle_", "constexpr bool Preshuffle = false"
        )
    )
    assert traits.read_text() != before
    tree = ck_tree_in(copy)
    assert tree is not None and tree.id != toolchain.tree_id
    changed = dataclasses.replace(toolchain, ck=tree)
    asked = subset("ck_tile.traits.preshuffle", "ck_tile.pipeline.compv6", "ck.stream_k")
    found = judge(changed, asked=asked)
    assert found.values == {
        "ck_tile.traits.preshuffle": "no",
        "ck_tile.pipeline.compv6": "yes",
        "ck.stream_k": "unjudged",
    }
    assert found.errors.keys() == {"ck_tile.traits.preshuffle"}
    assert "ck/ck.hpp" in found.unjudged["ck"] and not found.has("ck.stream_k")


@pytest.mark.amd
def test_answers_are_kept_per_tree_and_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain = dataclasses.replace(amd_toolchain(), prefix=tmp_path, compiler_id="not of the pins")
    answer = Capabilities({"ck.stream_k": "yes"}, {}, {})
    monkeypatch.setattr(under_test, "judge", lambda toolchain, say: answer)
    assert known_capabilities(toolchain) is None
    assert capabilities(toolchain) == answer
    monkeypatch.setattr(under_test, "judge", lambda toolchain, say: pytest.fail("judged again"))
    assert capabilities(toolchain) == answer == known_capabilities(toolchain)
    other_tree = dataclasses.replace(toolchain, ck=dataclasses.replace(toolchain.ck, id="0"))
    assert known_capabilities(other_tree) is None
    assert known_capabilities(dataclasses.replace(toolchain, compiler_id="0")) is None
    (file,) = (tmp_path / "capabilities").iterdir()
    file.write_text("{")
    assert known_capabilities(toolchain) is None
    file.write_text(json.dumps({"schema": "other"}))
    assert known_capabilities(toolchain) is None


@pytest.mark.amd
def test_a_compiler_that_crashes_is_an_error(tmp_path: Path) -> None:
    broken = tmp_path / "clang"
    broken.write_text("#!/bin/sh\nkill -SEGV $$\n")
    broken.chmod(0o755)
    toolchain = dataclasses.replace(amd_toolchain(), compiler=(str(broken),))
    with pytest.raises(InputError, match="exit code -11") as caught:
        judge(toolchain, asked=subset("ck.stream_k"))
    assert caught.value.diagnostics[0].code == "X008"
