from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from families_rows import Rows

from ckgen.families.common.set_document import too_many_combinations
from ckgen.families.gemm.config import CkTileConfig, FmaConfig, HipConfig, HostConfig, Scheduler, TilePipeline
from ckgen.families.gemm.constraints import constraints_of
from ckgen.families.gemm.enums import USUAL_SCALE_BLOCK, OperandOp, Quant
from ckgen.families.gemm.heuristic import heuristics
from ckgen.families.gemm.kernel_set import KernelCandidate
from ckgen.families.gemm.modules import modules
from ckgen.families.gemm.problem_rules import check, supports
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.kernel_sets import OPS, SHIPPED, kernel_set_files, load_kernel_set, read_kernel_set, shipped_set
from ckgen.families.moe.robust import RULED_MODULES as MOE_RULES
from ckgen.families.rules import judge
from ckgen.model.arch import Vendor
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.diagnostic import Location
from ckgen.model.dtype import DType
from ckgen.model.errors import InputError, UsageError
from ckgen.model.tuned_row import Shape
from ckgen.specs.archs import load_archs

BLOCKSCALE = "a8w8_blockscale_1x128x128_256x16x64x128_8x16_16x16_1x1_16x16x1_8x32x1_1x16x1x16_4_1x1_intrawave_v1"
TILE_SET = """\
op: gemm
name: mine
signatures: [fp16]
backend: ck_tile
targets: [gfx942]
configs:
  tile: 64x64x64
  warps: 2x2x1
  warp_tile: 32x32x16
  pipeline: compv3
"""
CK_SET = f"""\
op: gemm
name: mine
signatures: [a8w8_blockscale]
backend: ck
targets: "*"
kernels: [{BLOCKSCALE}]
"""
HIP_SET = """\
op: gemm
name: mine
signatures: [mxfp8]
backend: hip
targets: [gfx950]
configs: {kind: gemv, m: 1, n_sub: 4, k_splits: 2, block_n: 1}
"""
HOST_SET = """\
op: gemm
name: mine
signatures: [fp32]
backend: host
targets: [x86_64_v3]
configs: {register: 6x16, block: 96x512x256}
"""


def refused(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_kernel_set(text, "set.yaml")
    return [diagnostic.render() for diagnostic in caught.value.diagnostics]


def test_a_set_becomes_located_candidates() -> None:
    (found,) = load_kernel_set(TILE_SET, "set.yaml")
    config = CkTileConfig(Tile(64, 64, 64), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3)
    assert found.config == config
    assert (found.set_name, found.backend, found.archs, found.table_kernel) == (
        "mine",
        Backend.CK_TILE,
        frozenset({"gfx942"}),
        "",
    )
    assert found.location == Location("set.yaml", 6)
    assert found.is_for("gfx942")
    assert not found.is_for("gfx950")


def test_names_of_the_tables_keep_their_name_and_line() -> None:
    (found,) = load_kernel_set(CK_SET, "set.yaml")
    assert (found.table_kernel, found.location.line, found.archs) == (BLOCKSCALE, 6, None)
    assert found.is_for("gfx950")


def test_host_configs_are_read() -> None:
    (found,) = load_kernel_set(HOST_SET, "set.yaml")
    assert found.config == HostConfig(6, 16, 96, 512, 256, 0)


def test_lists_multiply_and_documents_add() -> None:
    text = TILE_SET.replace("fp16]", 'fp16, bf16, "fp16:rrr"]').replace("64x64x64", "[64x64x64, 128x128x64]")
    text += "  pad_k: [true, false]\n  scheduler: [intrawave, default]\n---\n" + HOST_SET
    found = load_kernel_set(text, "set.yaml")
    assert len(found) == 3 * 2 * 2 * 2 + 1
    assert {c.config.scheduler for c in found if isinstance(c.config, CkTileConfig)} == {Scheduler.INTRAWAVE, None}


def test_a_candidate_that_is_asked_for_twice_is_there_once() -> None:
    assert len(load_kernel_set(TILE_SET + "---\n" + TILE_SET, "set.yaml")) == 1


def test_wildcards_stand_for_every_legal_value() -> None:
    found = load_kernel_set(TILE_SET.replace("compv3", '"*"') + '  pad_m: "*"\n', "set.yaml")
    pairs = {(c.config.pipeline, c.config.pad_m) for c in found if isinstance(c.config, CkTileConfig)}
    assert pairs == {(p, pad) for p in list(TilePipeline)[:6] for pad in (False, True)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: mine", "name: other"), ("[fp16]", "[bf16]"), ("[gfx942]", "[gfx950]"),
        ("tile: 64x64x64", "tile: 64x64x32"),
        ("warps: 2x2x1", "warps: 1x4x1"), ("32x32x16", "16x16x16"), ("compv3", "compv4"),
        *(
            ("compv3\n", f"compv3\n  {key}: {value}\n")
            for key, value in {
                "scheduler": "interwave", "epilogue": "default", "pad_m": "true", "pad_n": "true", "pad_k": "true",
                "transpose_c": "true", "permute_n": "true", "persistent": "true", "a_row_major_scales": "true",
                "structured_sparsity": "true", "double_smem": "true", "partitioner_group_num": "4",
                "partitioner_m01": "2", "num_wave_groups": "2", "vector": "1", "block_per_cu": "2",
            }.items()
        ),
    ],
)  # fmt: skip
def test_every_key_takes_part(old: str, new: str) -> None:
    assert old in TILE_SET
    assert load_kernel_set(TILE_SET.replace(old, new, 1), "s") != load_kernel_set(TILE_SET, "s")


@pytest.mark.parametrize(
    ("old", "new"), [("6x16", "4x16"), ("96x512x256", "96x512x512"), ("256}", "256, threads: 2}"), ("[fp32]", "[bf16]")]
)
def test_every_key_of_a_host_set_takes_part(old: str, new: str) -> None:
    assert load_kernel_set(HOST_SET.replace(old, new, 1), "s") != load_kernel_set(HOST_SET, "s")


WRONG = [
    (TILE_SET + "tile: [\n", "K001"),
    ("\t- x", "K001"),
    (TILE_SET + "name: again\n", "error[K002] set.yaml:11 and set.yaml:2: key 'name' stands twice"),
    (TILE_SET + "  tile: 1x1x1\n", "error[K002] set.yaml:11 and set.yaml:7: key 'tile' stands twice"),
    (TILE_SET.replace("targets", "target"), "error[K003] set.yaml:5: unknown key 'target'"),
    (TILE_SET.replace("targets", "target"), "did you mean 'targets'?"),
    (TILE_SET.replace("targets", "target"), "error[K004] set.yaml:1: key 'targets' is missing"),
    (TILE_SET.replace("warps", "warp"), "error[K003] set.yaml:8: unknown key 'warp' for backend ck_tile"),
    (TILE_SET.replace("warps", "warp"), "key 'warps' is missing from configs"),
    (TILE_SET.replace("op: gemm", "op: fmah"), "error[K005] set.yaml:1: unknown op: 'fmah'"),
    (TILE_SET.replace("mine", '""'), "error[K005] set.yaml:2: name must be a word"),
    (TILE_SET.replace("ck_tile", "cktile"), "did you mean 'ck_tile'?"),
    (TILE_SET.replace("ck_tile", "opencl"), "unknown backend: 'opencl'"),
    (TILE_SET.replace("[gfx942]", "[]"), "error[K005] set.yaml:5: targets must be"),
    (TILE_SET.replace("[gfx942]", '["gfx942:80"]'), "unknown arch or family: 'gfx942:80'"),
    (TILE_SET.replace("gfx942", "gfx942, gfx943"), "error[K005] set.yaml:5: unknown arch or family: 'gfx943'"),
    (TILE_SET.replace("[fp16]", "[]"), "signatures must name at least one"),
    (
        TILE_SET.replace("[fp16]", "[fp17]"),
        "error[K006] set.yaml:3: unknown signature: 'fp17'; did you mean 'fp16'?",
    ),
    (TILE_SET.replace("64x64x64", "64x64"), "error[K005] set.yaml:7: tile cannot be '64x64'"),
    (TILE_SET.replace("64x64x64", "[64x64x64, 0x1x1]"), "tile cannot be '0x1x1'"),
    (TILE_SET.replace("64x64x64", "[]"), "tile has no value"),
    (TILE_SET.replace("64x64x64", "{a: b}"), "tile cannot be"),
    (TILE_SET.replace("compv3", "compv9"), "expected one of mem, compv3"),
    (TILE_SET + "  pad_m: yes\n", "expected true or false"),
    (TILE_SET + "  block_per_cu: 0\n", "expected an integer of at least 1"),
    (TILE_SET + "kernels: [x]\n", "needs either 'kernels' or 'configs'"),
    (TILE_SET.replace("configs:", "kernels:"), "error[K007]"),
    (CK_SET.replace("_v1", "_v9"), "error[K007] set.yaml:6: not a kernel name of a8w8_blockscale for backend ck"),
    (CK_SET.replace("_v1", "_v9"), "expected a8w8_blockscale_<sm>x<sn>x<sk>_<block>x<M>x<N>x<K>_…"),
    (CK_SET.replace("[a8w8_blockscale]", "[fp32]"), "has no kernel tables"),
    (CK_SET.replace("kernels: [", "configs: [x"), "takes 'kernels' by their table names"),
    (
        CK_SET.replace(BLOCKSCALE, "a8w8_blockscale_cktile_192x256x128_4x2x1_16x16x128_intrawave_0x1x0_1"),
        "not a kernel name of a8w8_blockscale for backend ck:",
    ),
    ("- 1\n", "error[K005] set.yaml:1: a document must be a mapping"),
    ("", "error[K008] set.yaml: the kernel set asks for nothing"),
    (TILE_SET + "  strategy: any\n", "expected one of data_parallel, atomic, linear, tree"),
    (TILE_SET + "  scheduler: some\n", "expected one of default, intrawave, interwave"),
    (TILE_SET + "  epilogue: some\n", "expected one of "),
    (TILE_SET + "  vector: -1\n", "expected an integer of at least 0"),
    (TILE_SET.replace("2x2x1", "2x2"), "expected 3 positive integers joined by x"),
    (HIP_SET.replace("gemv", "gemx"), "expected one of gemv, mfma, moe_deep, moe_shallow"),
    (HIP_SET.replace("m: 1,", "m: 0,"), "m cannot be '0'"),
    (HOST_SET.replace("{register: 6x16, block: 96x512x256}", "some"), "configs must be a mapping of lists"),
    (HOST_SET.replace("{register: 6x16, ", "{"), "key 'register' is missing from configs"),
    (HOST_SET.replace("op: gemm", "op: moe"), "op moe does not hold gemm_fp32_rcr"),
    (TILE_SET.replace("op: gemm", "op: stream_k"), "op stream_k does not hold a config that is not stream-K"),
    (TILE_SET + "  strategy: tree\n", "op gemm does not hold a config that is stream-K"),
    (
        TILE_SET.replace("[fp16]", "[fp16]")
        + f"  partitioner_m01: [{', '.join(map(str, range(1, 501)))}]\n"
        + f"  block_per_cu: [{', '.join(map(str, range(1, 102)))}]\n",
        "50,500 combinations are asked for",
    ),
    (CK_SET.replace("[a8w8_blockscale]", "[grouped:bf16]"), "error[K007]"),
]


@pytest.mark.parametrize(("text", "says"), WRONG)
def test_an_error_has_file_line_and_a_way_out(text: str, says: str) -> None:
    assert says in "\n".join(refused(text))


def test_so_many_combinations_are_made_and_no_more() -> None:
    place = Location("set.yaml", 3)
    assert too_many_combinations((500, 100), place) is None
    refused = too_many_combinations((50_001,), place)
    assert refused is not None
    assert refused.render().splitlines() == [
        "error[K005] set.yaml:3: 50,001 combinations are asked for",
        "            at most 50,000 are: shorten the lists, or write several documents",
    ]


LEAST = "  partitioner_group_num: 1\n  partitioner_m01: 1\n  num_wave_groups: 1\n  vector: 0\n  block_per_cu: 1\n"


@pytest.mark.parametrize("text", [TILE_SET + LEAST, HIP_SET.replace("4", "1").replace("k_splits: 2", "k_splits: 1"),
                                  HOST_SET.replace("}", ", threads: 0}")])  # fmt: skip
def test_the_least_numbers_are_taken(text: str) -> None:
    assert len(load_kernel_set(text, "set.yaml")) == 1


def test_a_set_that_is_not_known_is_named() -> None:
    with pytest.raises(UsageError) as caught:
        shipped_set("mine")
    assert str(caught.value) == f"unknown kernel set: 'mine' (a file, or one of {', '.join(SHIPPED)})"


def test_what_is_said_of_wrong_sets(golden: Callable[[str, str], None]) -> None:
    texts = dict.fromkeys(text for text, _ in WRONG)
    golden("families/wrong_sets.txt", "\n\n".join("\n".join(refused(text)) for text in texts) + "\n")


def test_all_errors_are_shown_together() -> None:
    text = TILE_SET.replace("op: gemm", "op: x").replace("64x64x64", "no") + "---\n" + CK_SET.replace("_v1", "_v9")
    assert [line.split()[1].rstrip(":") for line in refused(text)] == ["set.yaml:1", "set.yaml:7", "set.yaml:17"]


def test_a_file_is_read_and_a_missing_one_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(HOST_SET, encoding="utf-8")
    assert len(read_kernel_set(path)) == 1
    path.write_bytes(b"\xff\xfe")
    for bad in (path, tmp_path / "none.yaml"):
        with pytest.raises(InputError, match="cannot read"):
            read_kernel_set(bad)
    with pytest.raises(UsageError, match="default, ci, full"):
        shipped_set("none")


ARCHS = load_archs()


@cache
def for_arch(arch: str) -> dict[GemmSignature, list[KernelCandidate]]:
    found: dict[GemmSignature, list[KernelCandidate]] = defaultdict(list)
    for candidate in shipped_set("default"):
        if candidate.is_for(arch):
            found[candidate.signature.resolved(ARCHS[arch].fp8_flavour)].append(candidate)
    return dict(found)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_sets_name_archs_that_exist(name: str) -> None:
    for candidate in shipped_set(name):
        assert candidate.archs is None or candidate.archs <= ARCHS.keys()
        assert candidate.set_name == name or name == "matrix"  # there the document's name is a row of the report


@pytest.mark.parametrize("arch", sorted(ARCHS))
def test_every_default_is_valid_on_its_arch(arch: str) -> None:
    for signature, candidates in for_arch(arch).items():
        assert not signature.problems()
        for candidate in candidates:
            findings = judge(signature, candidate.config, candidate.backend, ARCHS[arch])
            assert not findings, (candidate, findings)


def test_every_module_has_defaults_where_it_has_tables(rows: Rows) -> None:
    from ckgen.families.gemm.signature import module_of

    for arch, module in {(row.gfx, row.module) for row in rows}:
        assert module in {module_of(signature) for signature in for_arch(arch)}, (arch, module)


def test_ck_defaults_are_measured_kernels_but_for_the_named_exceptions(rows: Rows) -> None:
    measured = {(row.gfx, row.kernel) for row in rows}
    anywhere = {kernel for _, kernel in measured}
    exceptions = {
        (arch, c.table_kernel)
        for arch in ("gfx942", "gfx950")
        for cs in for_arch(arch).values()
        for c in cs
        if c.table_kernel and (arch, c.table_kernel) not in measured
    }
    assert {kernel for _, kernel in exceptions if kernel not in anywhere} == {
        "a8w8_batched_rowwise_64x16x16x128_16x16_1x1_8x8x1_8x8x1_1x16x1x4_4x4x1_1x1_intrawave_v1"
    }
    assert {kernel.split("_rowwise")[0] for arch, kernel in exceptions if arch == "gfx942"} == {"a8w8", "a8w8_batched"}
    assert all("batched" in kernel for arch, kernel in exceptions if arch == "gfx950")


def shapes(signature: GemmSignature) -> list[Shape]:
    generator = random.Random(7)
    n_step = 16 if signature.preshuffle_b else 1
    k_step = 64 if signature.preshuffle_b else 2 if signature.b is DType.INT4 else 1
    k_step = {Quant.BLOCKSCALE: 128, Quant.MX: 64}.get(signature.quant, k_step)
    sizes = [1, 2, 3, 15, 16, 17, 100, 129, 1000, 4096]
    found = []
    for _ in range(150):
        m, n, k = (generator.choice(sizes) for _ in range(3))
        found.append(Shape(1 if signature.batched else 0, m, n * n_step, k * k_step))
    return found


@cache
def unanswered(arch: str) -> list[tuple[GemmSignature, Shape, list[str]]]:
    found = []
    for signature, candidates in for_arch(arch).items():
        for shape in shapes(signature):
            assert check(signature, shape) is None
            findings = [supports(constraints_of(signature, c.config), shape, 1) for c in candidates]
            if all(findings):
                found.append((signature, shape, [f.rule for f in findings if f]))
    return found


@pytest.mark.parametrize("arch", [name for name in sorted(ARCHS) if ARCHS[name].vendor is not Vendor.NVIDIA])
def test_every_legal_dense_problem_has_a_default(arch: str) -> None:
    assert not [miss for miss in unanswered(arch) if miss[0].quant is Quant.NONE]


def test_a_dense_problem_of_hopper_lacks_a_default_only_where_rows_begin_between_accesses() -> None:
    found = [miss for miss in unanswered("sm_90a") if miss[0].quant is Quant.NONE]
    sizes = {"m-multiple", "n-multiple", "k-multiple"}
    assert {rule for _, _, rules in found for rule in rules} == {f"gemm.instance.{size}" for size in sizes}
    for signature, shape, _ in found:
        of_b = shape.n if signature.layout.b_is_row_major else shape.k
        lines = {"a": shape.k if signature.layout.a_is_row_major else shape.m, "b": of_b, "c": shape.n}
        assert any(size * getattr(signature, name).bits % 128 for name, size in lines.items())


@pytest.mark.parametrize("arch", [name for name in sorted(ARCHS) if name.startswith("x86")])
def test_every_legal_problem_has_a_default_on_a_cpu(arch: str) -> None:
    assert not unanswered(arch)
    assert {m for m in modules() if m != "bf16"} <= {s.describe().split()[0] for s in for_arch(arch)}


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_a_quantised_problem_lacks_a_default_only_for_sizes_that_its_kernels_cannot_take(arch: str) -> None:
    for signature, shape, rules in unanswered(arch):
        if any(c.backend is Backend.HIP for c in for_arch(arch)[signature]):
            continue
        sizes = {"n-multiple", "k-multiple", "min-k", "matrix-size"}
        assert set(rules) <= {f"gemm.instance.{size}" for size in sizes}
        roomy = Shape(shape.batch, shape.m, 1024, 4096)
        assert not all(supports(constraints_of(signature, c.config), roomy, 1) for c in for_arch(arch)[signature])


def test_mxfp8_has_defaults_for_its_few_rows_and_no_others() -> None:
    """Of M, up to 16 without a row; of K, whole blocks of scales, and matrix instructions where K allows them."""
    ((signature, candidates),) = [(s, c) for s, c in for_arch("gfx950").items() if c[0].backend is Backend.HIP]

    def kinds(m: int, k: int) -> set[str]:
        asked = [(c.config, constraints_of(signature, c.config)) for c in candidates]
        alone = [(config, asks) for config, asks in asked if not asks.measured_only]
        fitting = [config for config, asks in alone if supports(asks, Shape(0, m, 40, k), 1) is None]
        return {config.kind.value for config in fitting if isinstance(config, HipConfig)}

    assert {m for m in range(1, 130) if kinds(m, 4096)} == {*range(1, 17)}
    left = {c.config.m for c in candidates if constraints_of(signature, c.config).measured_only}
    assert left == {32, 64}
    assert kinds(8, 4096) == {"gemv", "mfma"} and kinds(8, 4128) == {"gemv"} and not kinds(8, 4112)


def test_the_heuristics_leaves_are_names_that_a_set_may_use() -> None:
    """But for those of experts, which name a block of rows."""
    for rule in heuristics():
        if rule.module in MOE_RULES:
            continue
        for leaf in (leaf for leaf in rule.leaves if leaf.library == "ck"):
            types = ":fp8" if rule.module in ("a8w8", "a8w8_bpreshuffle") else ""
            text = CK_SET.replace(BLOCKSCALE, leaf.kernel).replace("[a8w8_blockscale]", f"[{rule.module}{types}]")
            assert load_kernel_set(text, "s")[0].table_kernel == leaf.kernel


def test_a_block_of_backend_hip_is_of_the_kind_whose_keys_it_has() -> None:
    text = "op: gemm\nname: n\nsignatures: fp32\nbackend: hip\ntargets: gfx942\nconfigs: {tile: [64x64x16, 32x32x16]}\n"
    tiles = Tile(64, 64, 16), Tile(32, 32, 16)
    assert [one.config for one in load_kernel_set(text, "s")] == [FmaConfig(tile) for tile in tiles]
    with pytest.raises(InputError, match="unknown key 'tile'"):
        load_kernel_set(text.replace("{tile", "{kind: gemv, m: 1, tile"), "s")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_bare_name_means_the_shipped_set_and_a_path_a_file(name: str) -> None:
    files = kernel_set_files(Path(name))
    found = [len(read_kernel_set(file)) for file in files]
    assert list(filter(None, found)) == list(filter(None, (len(shipped_set(name, op)) for op in OPS)))
    assert [file.parts[-3] for file, count in zip(files, found, strict=True) if not count] in ([], ["fmha"])
    assert kernel_set_files(Path(name), ["stream_k"]) == files[1:2]
    path = Path("sets") / name
    assert kernel_set_files(path) == (path,)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950", "x86_64_v3", "x86_64_v4"])
def test_what_is_fused_or_batched_has_so_many_defaults(arch: str) -> None:
    """Two Configs for each of 28 signatures; dense batches in four layouts of fp16 and bf16, and bf16 to fp16."""
    fused = {s: c for s, c in for_arch(arch).items() if s.epilogue or {s.a_op, s.b_op} != {OperandOp.NONE}}
    batched = {
        s: [one for one in c if one.backend in (Backend.CK_TILE, Backend.HOST)]
        for s, c in for_arch(arch).items()
        if s.batched and s.quant is Quant.NONE and s not in fused
    }
    assert [len(fused), sum(map(len, fused.values()))] == [28, 56]
    assert sum(bool(c) for c in batched.values()) == 9


@pytest.mark.parametrize("arch", ["x86_64_v3", "x86_64_v4"])
def test_the_cpu_has_so_many_defaults_of_the_newer_quantisations(arch: str) -> None:
    """Two Configs for each of 15: 7 of other scale blocks, 4 int4 with scales, 2 without, 2 of mx."""
    found = {s: c for s, c in for_arch(arch).items() if _is_newer(s)}
    assert [len(found), sum(map(len, found.values()))] == [15, 30]
    assert sum(s.b is DType.INT4 for s in found) == 6 and sum(s.quant is Quant.MX for s in found) == 2
    assert all(one.backend is Backend.HOST for c in found.values() for one in c)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_groups_of_one_side_have_so_many_defaults(arch: str) -> None:
    """Two Configs for each of two signatures of A's scales, three of B's, two of int4."""
    found = {s: c for s, c in for_arch(arch).items() if _is_newer(s)}
    assert {s: len(c) for s, c in found.items()} == dict.fromkeys(found, 2) and len(found) == 7
    assert sum(s.b is DType.INT4 for s in found) == 2 and sum(s.scale_block.of_a for s in found) == 2


def _is_newer(signature: GemmSignature) -> bool:
    mx = signature.quant is Quant.MX and (signature.a, signature.b) not in (
        (DType.FP4, DType.FP4), (DType.FP8_OCP, DType.FP8_OCP),
    )  # fmt: skip
    return mx or signature.b is DType.INT4 or signature.scale_block != USUAL_SCALE_BLOCK
