"""A registry document rebuilds an equal plan, and a wrong one says everything that is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ckgen.emit.render import render
from ckgen.families.gemm.query import GemmQuery
from ckgen.families.gemm.signature import parse_canonical
from ckgen.model.errors import InputError
from ckgen.model.selection import Wishes
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import GenerationPlan
from ckgen.plan.registry_document import registry_document, registry_schema, registry_text
from ckgen.plan.registry_read import read_registry
from ckgen.plan.select import Selection, select
from ckgen.specs.archs import load_archs
from plan_support import GFX942, GFX942_80, LARGE, REAL_TABLES, SMALL_M, plan_of, real_plan, row, told, write_table


def reread(text: str, folder: Path) -> GenerationPlan:
    file = folder / "registry.json"
    file.write_text(text, encoding="utf-8")
    return read_registry(file, load_archs())


def test_the_real_tables_and_their_instances_come_back_equal(tmp_path: Path) -> None:
    """So every row answers what it did: 41,801 that are selected, and external ones."""
    plan = real_plan()
    text = registry_text(plan)
    again = reread(text, tmp_path)
    assert told(again) == told(plan)
    assert [(i.name, i.id) for i in again.instances] == [(i.name, i.id) for i in plan.instances]
    assert again.instances == plan.instances and len(again.instances) > 700
    assert registry_text(again) == text
    shared = [unit["tables"] for unit in json.loads(text)["units"] if isinstance(unit["tables"], str)]
    assert len(shared) > 5 and sum(len(one) - 1 for unit in told(again) for one in unit[1:]) > 2 * 41_801


def test_every_row_of_a_rebuilt_library_answers_as_before(tmp_path: Path) -> None:
    """Selected and external rows, at and below measured sizes; and the library is the same byte by byte."""
    lines = [row(16, SMALL_M, splitK=3), row(64, LARGE), row(4096, LARGE, splitK=1)]
    lines += [row(m, "other", libtype="flydsl", splitK=splits) for m, splits in ((256, 0), (512, 4))]
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", lines), signatures=("*_blockscale",))
    again = reread(registry_text(plan), tmp_path)
    for m in (16, 15, 64, 300, 256, 257, 512, 4096, 4000, 5000):
        before, after = answer(plan, m), answer(again, m)
        assert (after.tier, after.instance, after.k_batch) == (before.tier, before.instance, before.k_batch)
        assert after.external == before.external
    assert answer(again, 16).k_batch == 8 and answer(again, 256).external is not None
    assert render(again, "lib") == render(plan, "lib")


def answer(plan: GenerationPlan, m: int) -> Selection:
    signature = parse_canonical("gemm_fp8_fnuz_bf16_rcr_blockscale")
    return select(GemmQuery(plan, GFX942, signature, Shape(0, m, 512, 1024), Wishes()))


def test_a_rebuilt_library_is_the_same_text(tmp_path: Path) -> None:
    """Every file of it, byte by byte."""
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16, SMALL_M), row(64, LARGE)])
    plan = plan_of(table, targets=(GFX942, GFX942_80, Target("x86_64_v4", 2)))
    again = reread(registry_text(plan), tmp_path)
    assert render(again, "lib") == render(plan, "lib")
    untabled = plan_of(targets=(GFX942, Target("gfx950", 256), Target("x86_64_v3", 1)))
    assert render(reread(registry_text(untabled), tmp_path), "lib") == render(untabled, "lib")


def test_groups_and_experts_come_back_equal_with_the_kernels_of_pairs(tmp_path: Path) -> None:
    plan = plan_of(
        REAL_TABLES,
        targets=(GFX942, Target("x86_64_v3", 2)),
        ops=frozenset({"grouped_gemm", "moe"}),
        signatures=(
            "grouped_gemm_bf16_*",
            "grouped_gemm_fp8_*_preshuffle",
            "moe_bf16_*_layer_*",
            "moe_fp8_*_rowwise_*",
        ),
    )
    assert {str(unit.signature.op) for unit in plan.units} == {"grouped_gemm", "moe"}
    pairs = [one for one in plan.instances if one.parts]
    known = {one.name for one in plan.instances}
    assert pairs and all(part.name in known for one in pairs for part in one.parts)
    document = json.loads(registry_text(plan))
    jsonschema.validate(document, registry_schema())
    again = reread(registry_text(plan), tmp_path)
    assert told(again) == told(plan) and render(again, "lib") == render(plan, "lib")


def test_the_document_is_the_text_and_keeps_its_schema() -> None:
    plan = plan_of(targets=(GFX942,))
    document = json.loads(registry_text(plan))
    assert document == registry_document(plan)
    jsonschema.validate(document, registry_schema())
    names = [instance["name"] for unit in document["units"] for instance in unit["instances"]]
    lines = registry_text(plan).splitlines()
    assert sum(line.startswith('  {"name": "') for line in lines) == len(names) == len(set(names))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of a document of one decision rule and its default kernels."""
    return registry_text(plan_of(targets=(GFX942,), signatures=("gemm_int8_bf16_rcr_rowwise", "gemm_fp32_rcr")))


def wrong(text: str, folder: Path) -> list[tuple[str, int, str]]:
    with pytest.raises(InputError) as error:
        reread(text, folder)
    return [
        (found.code, found.location.line if found.location else -1, found.message) for found in error.value.diagnostics
    ]


def measured(
    target: str = "gfx942:304",
    m: object = 16,
    instance: int = 0,
    k_batch: int = 1,
    kernel: str = "",
    external_m: int = 32,
) -> dict[str, Any]:
    """A table of a row, and of an external kernel where one is named."""
    sizes = {"batch": 0, "n": 512, "k": 1024}
    selected = {"shape": {**sizes, "m": m}, "instance": instance, "k_batch": k_batch}
    external = {"shape": {**sizes, "m": external_m}, "library": "flydsl", "kernel": kernel}
    return {"target": target, "selected": [selected], "external": [external] if kernel else []}


UNSHIPPED = {"asm": {"kind": "x", "name": "y", "tile": {"m": 1, "n": 1, "k": 1}}}
Edit = Callable[[dict[str, Any]], None]


def unit(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["units"][0]
    return found


def heuristic(module: str, *leaves: int) -> dict[str, Any]:
    return {"arch": "gfx942", "sku": "", "module": module, "leaves": list(leaves)}


def first(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = unit(document)["instances"][0]
    return found


WRONG: list[tuple[Edit, str, str]] = [
    (lambda d: d.update(schema="ckgen.registry/9"), "R005", 'got "ckgen.registry/9"'),
    (lambda d: d.pop("targets"), "R004", "key 'targets' is missing"),
    (lambda d: d.update(targets=["gfx942"]), "R005", "as in gfx942:304"),
    (lambda d: d.update(targets=["native"]), "R005", "native"),
    (lambda d: d.update(units=[]), "R005", "units must not be empty"),
    (lambda d: d["units"].append(d["units"][0]), "R006", "stands twice"),
    (lambda d: unit(d).update(op="fmah"), "R005", "unknown value \"fmah\""),
    (lambda d: unit(d).update(op="fmha"), "R003", "unknown key 'module'"),
    (lambda d: unit(d).update(op="grouped_gemm"), "R006", "its signature is of op gemm, not grouped_gemm"),
    (lambda d: unit(d).update(module="a9w9"), "R005", "unknown module"),
    (lambda d: unit(d)["signature"].update(layuot="rcr"), "R003", "unknown key 'layuot'"),
    (lambda d: unit(d)["signature"].pop("a"), "R004", "key 'a' is missing"),
    (lambda d: unit(d)["signature"].update(c="int4"), "R006", "means nothing: C cannot be int4"),
    (lambda d: unit(d)["signature"].update(bias=True), "R006", "its fields spell gemm_fp32_rcr_bias, not"),
    (lambda d: first(d).update(name="gemm_other"), "R006", ', not gemm_other'),
    (lambda d: first(d).update(id="0" * 16), "R006", "the id of gemm_fp32_rcr"),
    (lambda d: first(d).update(backend="cuda"), "R005", 'unknown value "cuda"'),
    (lambda d: first(d).update(backend="ck"), "R006", "its config is of backend ck_tile, not of ck"),
    (lambda d: first(d).update(archs=["gfx9"]), "R005", 'unknown arch: "gfx9"'),
    (lambda d: first(d).update(archs=["gfx942", "gfx942"]), "R006", "distinct and sorted"),
    (lambda d: first(d).update(archs=["x86_64_v3"]), "R007", "is not a backend of it"),
    (lambda d: first(d).update(table_kernel='x"y'), "R005", "not plain text"),
    (lambda d: first(d)["constraints"].update(min_k=7), "R006", "not those of gemm_fp32_rcr"),
    (lambda d: first(d).update(config={"ck_tilt": {}}), "R005", "an object of one key"),
    (lambda d: first(d)["config"]["ck_tile"]["tile"].update(m=0), "R007", "cannot be built for gfx942"),
    (lambda d: first(d)["config"]["ck_tile"].update(strategy="any"), "R006", "only a wish"),
    (lambda d: first(d)["config"]["ck_tile"].update(warps=[2, 2]), "R005", "expected an array of 3"),
    (lambda d: first(d).update(backend="asm", config=UNSHIPPED), "R006", "its fields make no kernel"),
    (lambda d: unit(d)["instances"].append(first(d)), "R006", "stands twice"),
    (lambda d: unit(d).update(defaults={"gfx942": [99]}), "R006", "there is no instance 99"),
    (lambda d: unit(d).update(defaults={"gfx942": [len(unit(d)["instances"])]}), "R006", "there is no instance 4"),
    (lambda d: unit(d).update(defaults={"gfx942": [-1]}), "R006", "there is no instance -1"),
    (lambda d: unit(d).update(defaults={"gfx950": [0]}), "R006", "is not built for gfx950"),
    (lambda d: unit(d).update(defaults=[]), "R005", "expected an object"),
    (lambda d: unit(d).update(heuristics=[heuristic("a8w8_blockscale", 0)]), "R006", "leaves, not 1"),
    (lambda d: unit(d).update(heuristics=[heuristic("a8w8_blockscale", 9)]), "R006", "there is no instance 9"),
    (lambda d: unit(d).update(heuristics=[heuristic("x")]), "R005", 'no decision rule for "x"'),
    (lambda d: unit(d).pop("tables"), "R004", "key 'tables' is missing"),
    (lambda d: unit(d).update(tables="gemm_fp16_rcr"), "R006", 'no unit above it is "gemm_fp16_rcr"'),
    (lambda d: d["units"][1].update(tables=unit(d)["name"]), "R006", "has other kernels"),
    (lambda d: unit(d).update(tables={}), "R005", "expected an array"),
    (lambda d: unit(d).update(tables=[measured(target="gfx950:256")]), "R006", "is no target of the document"),
    (lambda d: unit(d).update(tables=[measured(), measured()]), "R006", "has a table already"),
    (lambda d: unit(d).update(tables=[measured(m=0)]), "R006", "its kernel does not take it: M = 0"),
    (lambda d: unit(d).update(tables=[measured(m=2**31)]), "R005", "no problem has such a size: 2147483648"),
    (lambda d: unit(d).update(tables=[measured(m="16")]), "R005", "expected an integer"),
    (lambda d: unit(d).update(tables=[measured(instance=99)]), "R006", "there is no instance 99"),
    (lambda d: unit(d).update(tables=[measured(k_batch=99)]), "R006", "does not take it: K = 1024 leaves nothing"),
    (lambda d: unit(d).update(tables=[measured(k_batch=0)]), "R005", "not a number of splits: 0"),
    (lambda d: unit(d).update(tables=[measured(kernel="a", external_m=-2)]), "R005", "no problem has such a size: -2"),
    (lambda d: unit(d).update(tables=[measured(kernel='"')]), "R005", "not plain text"),
    (lambda d: unit(d).update(tables=[measured(kernel="other", external_m=16)]), "R006", "its problem stands twice"),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "code", "says"), WRONG)
def test_a_wrong_document_says_what_is_wrong(small: str, tmp_path: Path, edit: Edit, code: str, says: str) -> None:
    document = json.loads(small)
    edit(document)
    found = wrong(json.dumps(document, indent=1), tmp_path)
    assert any(code == got and says in message for got, _, message in found), found
    assert all(line > 0 for _, line, _ in found)


def test_what_is_said_of_wrong_documents(small: str, tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    texts = []
    for edit, _, _ in WRONG:
        document = json.loads(small)
        edit(document)
        with pytest.raises(InputError) as error:
            reread(json.dumps(document, indent=1), tmp_path)
        texts.append(str(error.value).replace(str(tmp_path), ""))
    golden("plan/wrong_registries.txt", "\n\n".join(texts) + "\n")


def test_every_error_comes_at_once_on_its_line(small: str, tmp_path: Path) -> None:
    lines = small.splitlines()
    instances = [at for at, line in enumerate(lines) if line.startswith('  {"name"')]
    lines[instances[0]] = lines[instances[0]].replace('"ck_tile", "archs"', '"ck_tyle", "archs"')
    lines[instances[1]] = lines[instances[1]].replace('"pad_m": true', '"pad_m": 1')
    lines[instances[2]] = lines[instances[2]].replace('"archs"', '"archs": ["gfx942"], "archs"')
    found = wrong("\n".join(lines), tmp_path)
    assert [(code, line) for code, line, _ in found] == [
        ("R005", instances[0] + 1),
        ("R005", instances[1] + 1),
        ("R002", instances[2] + 1),
    ]


def test_what_is_no_json_or_no_file_is_said(tmp_path: Path) -> None:
    assert wrong('{"schema":\n', tmp_path)[0][:2] == ("R001", 2)
    assert wrong("[]", tmp_path) == [("R005", 1, "expected an object, got an array")]
    with pytest.raises(InputError, match="R001"):
        read_registry(tmp_path / "nowhere.json", load_archs())


def test_a_document_from_before_a_field_was_there_means_its_default(small: str, tmp_path: Path) -> None:
    document = json.loads(small)
    del first(document)["config"]["ck_tile"]["double_smem"]
    del unit(document)["signature"]["bias"]
    assert reread(json.dumps(document), tmp_path) == reread(small, tmp_path)
