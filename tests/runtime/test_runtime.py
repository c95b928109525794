"""The Python side of the C ABI, on the C++ tests' tiny library."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from ckgen.families.common.policy import near_gap
from ckgen.families.gemm.modules import templates
from ckgen.families.gemm.signature import parse_signature
from ckgen.model.errors import UsageError
from ckgen.model.selection import Tier
from ckgen.model.target import Target
from ckgen.runtime import GemmArgsStruct, Options, RuntimeFailure, RuntimeLibrary
from ckgen.tables.digest import tables_digest
from ckgen.workload.shape_list import AskedShape, read_shapes
from cpp_build import ROOT, SYSTEM_LIBRARIES, dispatcher_archive

pytestmark = pytest.mark.cpp
CPP = ROOT / "dispatcher_cpp"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> RuntimeLibrary:
    archive = dispatcher_archive()
    out = tmp_path_factory.mktemp("tiny") / "libtiny_runtime.so"
    source = Path(__file__).with_name("tiny_runtime.cpp")
    includes = [f"-I{CPP / 'include'}", f"-I{CPP / 'tests'}"]
    whole = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", *SYSTEM_LIBRARIES]
    subprocess.run(
        ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", *includes, str(source), "-o", str(out), *whole], check=True
    )
    return RuntimeLibrary(out)


def test_a_device_knows_its_product_and_what_may_be_built_for_it(library: RuntimeLibrary) -> None:
    device = library.simulated("sm_90a:132:h200")
    assert (str(device), device.target) == ("sm_90a:132:h200 (simulated)", "sm_90a:132:h200")
    for sku, is_of in (("", True), ("h200", True), ("h100", False)):
        assert device.is_of(Target("sm_90a", 132, sku)) is is_of
    assert not library.simulated("sm_90a:132").is_of(Target("sm_90a", 132, "h200"))


def test_a_problem_gets_the_answer_of_cpp(library: RuntimeLibrary) -> None:
    dispatcher = library.dispatcher(["tiny"], Options())
    device = library.simulated("gfx942:304")
    assert str(device) == "gfx942:304 (simulated)"
    choice = dispatcher.select(library.problem("fp16", 128, 1024, 2048), device)
    assert (choice.tier, choice.instance, choice.k_batch, choice.table_m) == (Tier.EXACT, "tiny_medium", 2, 128)
    external = dispatcher.select(library.problem("fp16", 96, 1024, 2048), device)
    assert external.external == ("asm", "ext_a")


def test_libraries_that_no_row_names_are_not_asked_for(library: RuntimeLibrary) -> None:
    dispatcher = library.dispatcher(["tiny"], Options(), provide_libraries=True)
    external = dispatcher.select(library.problem("fp16", 96, 1024, 2048), library.simulated("gfx942:304"))
    assert (external.instance, external.external) == ("tiny_medium", ("asm", "ext_a"))


def test_a_refusal_carries_its_reason(library: RuntimeLibrary) -> None:
    dispatcher = library.dispatcher(["tiny"], Options())
    device = library.simulated("gfx942")
    problem = library.problem("a8w8_blockscale", 1, 1, 2050)
    choice = dispatcher.select(problem, device)
    assert choice.instance is None
    assert choice.reason == "K = 2050 is not a multiple of 128 (rule gemm.blockscale.k-group)"
    with pytest.raises(RuntimeFailure, match=r"gemm\.blockscale\.k-group"):
        dispatcher.plan(problem, device)
    with pytest.raises(RuntimeFailure, match="gfx000"):
        library.simulated("gfx000")
    with pytest.raises(RuntimeFailure, match="nonsense"):
        library.dispatcher(["tiny"], Options(force="nonsense"))


def test_names_that_no_file_holds_are_refused_by_name(library: RuntimeLibrary) -> None:
    for ask in (library.dispatcher, library.registry_json):
        with pytest.raises(ValueError, match=r"no generated library named 'nope' in .*libtiny_runtime\.so: names are"):
            ask(["tiny", "nope"])
        for wrong in ("tiny", ["tiny", 3], [None]):
            with pytest.raises(TypeError, match=r"names is a list of names, such as \['ckgen_generated'\], got "):
                ask(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no GPU code named 'tiny' in "):
        library.dispatcher(["tiny"], device_names=["tiny"])
    with pytest.raises(TypeError, match="device_names is a list of names"):
        library.dispatcher(["tiny"], device_names="tiny_gpu")


def test_functions_of_the_abi_are_no_libraries(library: RuntimeLibrary) -> None:
    for name in ("registry_add", "", "a b", "a\0b"):
        with pytest.raises(ValueError, match="no generated library named"):
            library.dispatcher([name])


def test_arguments_of_no_op_are_refused(library: RuntimeLibrary) -> None:
    dispatcher = library.dispatcher(["tiny"], Options())
    plan = dispatcher.plan(library.problem("fp16", 5, 6, 64), library.simulated("gfx942"), instance="tiny_small")
    for call in (dispatcher.run, dispatcher.bench):
        with pytest.raises(TypeError, match=r"args is one of GemmArgsStruct, .*, got dict"):
            call(plan, {"m": 5})  # type: ignore[arg-type]


def test_a_hundred_thousand_shapes_are_one_call(library: RuntimeLibrary) -> None:
    dispatcher = library.dispatcher(["tiny"], Options())
    device = library.simulated("gfx942")
    shapes = np.zeros((100_000, 4), dtype=np.int64)
    shapes[:, 1] = np.arange(100_000)
    shapes[:, 2:] = (1024, 2048)
    chosen = dispatcher.select_many(library.signature("fp16"), shapes, device)
    assert dispatcher.reason(chosen[0]) == "M = 0 is below 1 (rule gemm.shape.m)"
    for m in (1, 16, 100, 500, 600, 99_999):
        one = dispatcher.select(library.problem("fp16", m, 1024, 2048), device)
        assert chosen[m]["table_m"] == one.table_m
        assert dispatcher.instance(chosen[m]["instance"]).name == one.instance


def test_instances_and_explanations_are_listed(library: RuntimeLibrary) -> None:
    dispatcher = library.dispatcher(["tiny"], Options())
    device = library.simulated("gfx942")
    first = next(dispatcher.instances())
    assert (first.name, first.signature, first.tile) == ("tiny_small", "gemm_fp16_rcr", (16, 64, 32))
    problem = library.problem("fp16", 7, 7, 64)
    assert dispatcher.enumerate(problem, device) == ["tiny_small", "tiny_medium"]
    assert "gfx942:304 (simulated)" in dispatcher.explain(problem, device)


def test_answers_are_counted_and_misses_recorded(library: RuntimeLibrary, tmp_path: Path) -> None:
    device = library.simulated("gfx942:304")
    assert library.dispatcher(["tiny"], Options()).counters().hits == 0
    dispatcher = library.dispatcher(["tiny"], Options(record=str(tmp_path)))
    for m in (128, 100, 600, 600):
        dispatcher.select(library.problem("fp16", m, 1024, 2048), device)
    counters = dispatcher.counters()
    assert {tier: count for tier, count in counters.tiers.items() if count} == {
        Tier.EXACT: 1, Tier.NEAR: 1, Tier.FAR: 2,
    }  # fmt: skip
    assert (counters.hits, counters.misses, counters.recorded, counters.unrecorded) == (2, 2, 1, 0)
    assert [dispatcher.is_tuned(library.problem("fp16", m, 1024, 2048), device) for m in (128, 600)] == [True, False]
    assert dispatcher.counters() == counters
    del dispatcher
    (recorded,) = tmp_path.glob("ckgen_record_*.csv")
    shape = AskedShape("gemm_fp16_rcr", 0, 600, 1024, 2048, gfx="gfx942", cu_num=304)
    assert read_shapes(recorded) == {shape: 2}


def test_tables_are_loaded_and_their_digest_told(library: RuntimeLibrary, tmp_path: Path) -> None:
    table, gone = tmp_path / "t.csv", tmp_path / "gone.csv"
    head = "gfx,cu_num,signature,B,M,N,K,experts,top_k,sizes,kernelName,splitK,us\ngfx942,304,gemm_fp16_rcr,0,600,1024,"
    table.write_text(head + "2048,0,0,,tiny_small,4,1.5\n")
    gone.write_text(head + "2048,0,0,,nothing,4,1.5\n")
    device, problem = library.simulated("gfx942:304"), library.problem("fp16", 600, 1024, 2048)
    dispatcher = library.dispatcher(["tiny"], Options())
    compiled = dispatcher.tables_digest()
    dispatcher.load_tables([table])
    choice = dispatcher.select(problem, device)
    assert (choice.tier, choice.instance, choice.k_batch) == (Tier.EXACT, "tiny_small", 4)
    assert dispatcher.is_tuned(problem, device) and dispatcher.tables_digest() != compiled
    assert library.dispatcher(["tiny"], Options(tables=str(table))).tables_digest() == dispatcher.tables_digest()
    other = tmp_path / "other.csv"
    other.write_text(head + "2048,0,0,,tiny_small,2,1.5\n# of another length\n")
    assert dispatcher.loaded_tables_digest() == tables_digest([table]) != tables_digest([table, other])
    dispatcher.load_tables([table, other])
    assert dispatcher.loaded_tables_digest() == tables_digest([table, other]) != tables_digest([other, table])
    with pytest.raises(RuntimeFailure, match="1 row left out, first line 2: not in the library: instance 'nothing'"):
        dispatcher.load_tables([gone])
    dispatcher.load_tables([])
    assert dispatcher.tables_digest() == compiled and dispatcher.loaded_tables_digest() == tables_digest([]) == 0


def test_the_gap_of_loaded_tables_is_the_policy_s() -> None:
    text = (CPP / "src" / "select" / "ladder.hpp").read_text(encoding="utf-8")
    assert f"NearGap kLoadedGap{{{near_gap().add}, {near_gap().factor}}};" in text


def test_attached_gpu_code_is_listed(library: RuntimeLibrary) -> None:
    dispatcher = library.dispatcher(["tiny"], Options(), device_names=["tiny_gpu"])
    archs = {info.name: (info.device_archs, info.has_device) for info in dispatcher.instances()}
    assert archs["tiny_medium"] == (("gfx942", "gfx950"), True)
    assert archs["tiny_small"] == ((), False)
    with pytest.raises(RuntimeFailure, match="no registered instance has id 0000000000000002"):
        library.dispatcher([], Options(), device_names=["tiny_gpu"])


def test_a_twin_computes(library: RuntimeLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    dispatcher = library.dispatcher(["tiny"], Options())
    problem = library.problem("fp16", 5, 6, 64)
    plan = dispatcher.plan(problem, library.simulated("gfx942"), instance="tiny_small", k_batch=2)
    assert plan.refusal == ""
    a, b = np.ones((5, 64), np.float16), np.full((6, 64), 2, np.float16)
    c = np.zeros((5, 6), np.float16)
    sizes = {"m": 5, "n": 6, "k": 64, "batch": 1, "lda": 64, "ldb": 64, "ldc": 6}
    args = GemmArgsStruct(a=a.ctypes.data, b=b.ctypes.data, c=c.ctypes.data, **sizes)
    dispatcher.run(plan, args)
    assert (c == 128).all()
    timed = dispatcher.bench(plan, args, warmup=1, runs=3)
    assert 0 < timed.min_us <= timed.median_us <= timed.max_us and timed.runs == 3
    assert dispatcher.bench(plan, args, warmup=0).runs == 100
    monkeypatch.setenv("CK_TILE_BENCH_REPEAT", "7")
    assert dispatcher.bench(plan, args).runs == 7
    for nonsense in ("0", "-3", "x", ""):
        monkeypatch.setenv("CK_TILE_BENCH_REPEAT", nonsense)
        assert dispatcher.bench(plan, args, warmup=0).runs == 100
    with pytest.raises(RuntimeFailure, match="A is null"):
        dispatcher.run(plan, GemmArgsStruct(b=b.ctypes.data, c=c.ctypes.data, **sizes))


def test_shuffled_mx_scales_are_read_where_the_flag_says_so(library: RuntimeLibrary) -> None:
    dispatcher = library.dispatcher(["tiny_mx"], Options())
    m, n, k = 40, 35, 320
    plan = dispatcher.plan(library.problem("gemm_fp4_bf16_rcr_mx", m, n, k), library.simulated("gfx950"))
    assert plan.refusal == ""
    random = np.random.default_rng(1)
    a, b = (random.integers(0, 256, (rows, k // 2), dtype=np.uint8) for rows in (m, n))
    plain = [random.integers(120, 135, (rows, k // 32), dtype=np.uint8) for rows in (m, n)]
    shuffled = []
    for scales in plain:
        padded = np.pad(scales, ((0, -scales.shape[0] % 32), (0, -scales.shape[1] % 8)))
        blocks = padded.reshape(-1, 2, 16, padded.shape[1] // 8, 2, 4)
        shuffled.append(np.ascontiguousarray(blocks.transpose(0, 3, 5, 2, 4, 1)))

    def computed(scales: list[np.ndarray], flag: int) -> bytes:
        c = np.zeros((m, n), np.uint16)
        sizes = {"m": m, "n": n, "k": k, "batch": 1, "lda": k, "ldb": k, "ldc": n}
        operands = {"a": a.ctypes.data, "b": b.ctypes.data, "c": c.ctypes.data}
        a_scale, b_scale = (each.ctypes.data for each in scales)
        args = GemmArgsStruct(**operands, a_scale=a_scale, b_scale=b_scale, mx_scale_shuffled=flag, **sizes)
        dispatcher.run(plan, args)
        return c.tobytes()

    expected = computed(plain, 0)
    assert computed(shuffled, 1) == expected
    assert computed(shuffled, 0) != expected


TYPES = (
    "fp16", "fp8", "fp8_ocp", "int8_bf16", "fp8_bf8_bf16", "fp16_fp16", "fp4_bf16", "fp16_int32", "fp8_ocp_int4_bf16",
    "fp16_int4_fp16",
)  # fmt: skip
TAILS = (
    "", "_rowwise", "_mx_preshuffle", "_blockscale_bias", "_batched", "_acc_fp16", "_scale_none", "_bias_batched",
    "_epi_add_relu", "_epi_scale", "_epi_relu_none", "_epi", "_epi_add_mul_add", "_batched_a_add_b_mul",
    "_a_add_epi_mul",
    "_a_none", "_blockscale_scales_b_1x64", "_blockscale_scales_both_128x128", "_blockscale_scales_a_128x64",
    "_blockscale_scales_a_64x64", "_scales_b_1x64", "_blockscale_scales_b_300x64", "_blockscale_scales_b_1x-64",
)  # fmt: skip


def texts() -> list[str]:
    heads = list(templates())
    words = ["int8", "fp8", "fp8_ocp", "bf16", "fp16", "fp32", "rrr", "bias", "nonsense"]
    pairs = [f"{head}:{word}" for head in heads for word in words]
    canonical = [f"gemm_{types}_{layout}{tail}" for types in TYPES for layout in ("rcr", "crr") for tail in TAILS]
    return [*heads, *pairs, *[f"{pair}:fp16" for pair in pairs], *canonical, "", "gemm", "gemm_", "a8w8:"]


def test_cpp_parses_signatures_as_python_does(library: RuntimeLibrary) -> None:
    for text in texts():
        try:
            expected = parse_signature(text, None).canonical()
        except UsageError:
            expected = "refused"
        try:
            found = library.signature_text(library.signature(text))
        except RuntimeFailure:
            found = "refused"
        assert found == expected, text
