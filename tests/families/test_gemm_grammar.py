from __future__ import annotations

from collections import defaultdict
from dataclasses import fields, replace

import pytest
from families_rows import Rows
from hypothesis import given
from hypothesis import strategies as st

from ckgen.families.common.naming import instance_id, instance_name
from ckgen.families.gemm.config import (
    CkBlockScaleConfig,
    CkPreshuffledConfig,
    CkRowwiseConfig,
    CkTileConfig,
    Epilogue,
    GemmConfig,
    HostConfig,
    Scheduler,
    TilePipeline,
)
from ckgen.families.gemm.grammar import describe_grammar, fits, grammars, identify, table_name
from ckgen.families.gemm.signature import parse_signature, signatures_of_row
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType, Fp8Flavour
from ckgen.model.tuned_row import Discriminators

size = st.integers(1, 999_999_999)
tile = st.builds(Tile, size, size, size)
pair, triple, quad = st.tuples(size, size), st.tuples(size, size, size), st.tuples(size, size, size, size)
common = {
    "block": size, "tile": tile, "xdl": pair, "a_cluster": triple, "b_cluster": triple, "c_cluster": quad,
    "c_vector": triple | st.tuples(size), "cshuffle": pair, "scheduler": st.sampled_from(Scheduler),
    "pipeline": st.integers(1, 5),
}  # fmt: skip
k_pack = {"k_pack": st.integers(1, 2)}
kinds: tuple[st.SearchStrategy[GemmConfig], ...] = (
    st.builds(CkRowwiseConfig, xdl_per_wave=pair, **common),
    st.builds(CkBlockScaleConfig, scale_block=triple, ak1=size, bk1=size, xdl_per_wave=pair, **common),
    st.builds(CkPreshuffledConfig, scale_block=st.none() | triple, ak1=size, bk1=size, **k_pack, **common),
    st.builds(
        CkTileConfig, tile=tile, warps=triple, warp_tile=tile, pipeline=st.sampled_from(TilePipeline),
        scheduler=st.none() | st.sampled_from(Scheduler), epilogue=st.sampled_from(Epilogue), pad_m=st.booleans(),
        pad_n=st.booleans(), pad_k=st.booleans(), transpose_c=st.booleans(), permute_n=st.booleans(),
        persistent=st.booleans(), a_row_major_scales=st.booleans(), structured_sparsity=st.booleans(),
        double_smem=st.booleans(), partitioner_group_num=size, partitioner_m01=size, num_wave_groups=size,
        vector=st.integers(0, 16), block_per_cu=size,
    ),
    st.builds(HostConfig, size, size, size, size, size, st.integers(0, 512)),
)  # fmt: skip
configs = st.one_of(kinds)
alike = st.one_of([st.tuples(kind, kind) for kind in kinds])
DISTINCT = {
    ("a8w8", "ck"): 42, ("batched_a8w8", "ck"): 11, ("batched_bf16", "ck"): 10, ("a8w8_bpreshuffle", "ck"): 73,
    ("a8w8_blockscale", "ck"): 19, ("a8w8_blockscale_bpreshuffle", "ck"): 18, ("a4w4_blockscale", "ck"): 18,
    ("a8w8_bpreshuffle", "cktile"): 74, ("a8w8_blockscale", "cktile"): 22,
    ("a8w8_blockscale_bpreshuffle", "cktile"): 13,
}  # fmt: skip


def test_every_measured_name_parses_and_is_written_back(rows: Rows) -> None:
    names = {(row.module, row.library, row.kernel) for row in rows}
    by_table: dict[tuple[str, str], dict[object, str]] = defaultdict(dict)
    for module, library, name in names:
        found = identify(module, library, name)
        assert found is not None, name
        assert table_name(module, found.config) == name
        assert by_table[module, library].setdefault(found.config, name) == name
        assert module in fits(name)
    assert {key: len(kernels) for key, kernels in by_table.items()} == DISTINCT
    assert len({name for _, _, name in names}) == 290
    assert sum(len(fits(name)) > 1 for name in {name for _, _, name in names}) == 25


def test_waves_of_every_measured_ck_name_fill_its_block(rows: Rows) -> None:
    for module, name in {(row.module, row.kernel) for row in rows if row.library == "ck"}:
        found = identify(module, "ck", name)
        assert found is not None
        assert found.config.waves is not None
        m, n, k = found.config.waves
        block = next(word for word in name.split("_") if word.count("x") == 3).split("x")[0]
        assert 64 * m * n * k == int(block)


def test_waves_along_m_are_the_fewest_that_divide() -> None:
    name = "a8w8_bpreshuffle_256x32x64x512_16x16_16x16_32x8x1_32x8x1_1x32x1x8_8x8x1_1x2_intrawave_v1"
    found = identify("a8w8_bpreshuffle", "ck", name)
    assert found is not None
    assert found.config.waves == (2, 2, 1)
    assert found.config.xdl_per_wave is None  # type: ignore[union-attr]


def test_where_several_wave_grids_divide_the_one_with_fewest_along_m_is_meant() -> None:
    name = "a8w8_bpreshuffle_256x128x128x128_16x16_16x16_8x32x1_8x32x1_1x32x1x8_8x8x1_2x1_intrawave_v3"
    found = identify("a8w8_bpreshuffle", "ck", name)
    assert found is not None
    assert found.config.waves == (1, 4, 1)


def test_fp4_tiles_count_elements_not_bytes() -> None:
    name = "a4w4_blockscale_256x64x128x128_16x16_16x16_8x32x1_8x32x1_1x32x1x8_8_2x2_intrawave_v3"
    found = identify("a4w4_blockscale", "ck", name)
    assert found is not None
    assert (found.config.macro_tile, found.config.k_grain) == (Tile(64, 128, 256), 256)


@given(configs)
def test_what_a_grammar_writes_it_reads_back(config: GemmConfig) -> None:
    for grammar in grammars():
        name = grammar.format(config)  # type: ignore[arg-type]
        if name is not None:
            assert grammar.parse(name) == config


@given(st.data())
def test_what_a_grammar_reads_it_writes_back(data: st.DataObject) -> None:
    grammar = data.draw(st.sampled_from(grammars()))
    name = data.draw(st.from_regex(grammar.form.regex, fullmatch=True))
    config = grammar.parse(name)
    assert config is not None
    assert grammar.format(config) == name


GOOD = "a8w8_blockscale_1x128x128_256x16x64x128_8x16_16x16_1x1_16x16x1_8x32x1_1x16x1x16_4_1x1_intrawave_v1"


@pytest.mark.parametrize(
    "bad",
    [
        "", "a8w8_blockscale_nonsense", f"{GOOD}x", f" {GOOD}", f"{GOOD}\n", GOOD.replace("_v1", "_v6"),
        GOOD.replace("_v1", ""), GOOD.replace("16x64", "016x64"), GOOD.replace("256x16", "0x16"),
        GOOD.replace("intrawave", "Intrawave"), GOOD.replace("256", "٢٥٦"), GOOD.replace("256x", "9999999999x"),
        GOOD.replace("_4_1x1", "_4x4x1_1x1"), GOOD.upper(),
    ],
)  # fmt: skip
def test_a_name_of_another_form_is_not_identified(bad: str) -> None:
    assert identify("a8w8_blockscale", "ck", GOOD) is not None
    assert identify("a8w8_blockscale", "ck", bad) is None
    assert identify("a8w8_blockscale", "cktile", GOOD) is None
    assert identify("a8w8", "ck", GOOD) is None


def test_a_hint_shows_the_form_of_the_module_asked_for() -> None:
    hint = describe_grammar("a8w8_blockscale")
    assert hint.startswith(
        "a8w8_blockscale_<sm>x<sn>x<sk>_<block>x<M>x<N>x<K>_… or a8w8_blockscale_cktile_<M>x<N>x<K>_…"
    )
    assert describe_grammar("a8w8_blockscale", full=True).endswith("<block_per_cu>[_aqrm]")
    assert describe_grammar("bf16") == ""


@given(st.lists(configs, min_size=2, max_size=40, unique_by=lambda c: (type(c), c)))
def test_no_two_configs_of_a_backend_family_share_a_text(found: list[GemmConfig]) -> None:
    texts = {(isinstance(c, CkTileConfig), isinstance(c, HostConfig), type(c), c.text()) for c in found}
    assert len(texts) == len(found)


@given(alike)
def test_every_field_of_a_config_is_in_its_text(pair: tuple[GemmConfig, GemmConfig]) -> None:
    config, other = pair
    for field in fields(config):
        changed = replace(config, **{field.name: getattr(other, field.name)})
        assert (changed.text() == config.text()) == (changed == config)


def test_instance_names_are_injective_over_all_measured_kernels(rows: Rows) -> None:
    names: dict[str, object] = {}
    for module, library, kernel in {(row.module, row.library, row.kernel) for row in rows}:
        found = identify(module, library, kernel)
        assert found is not None
        for flavour in Fp8Flavour:
            operand = {"a8w8": DType.INT8}.get(module)
            for signature in signatures_of_row(module, Discriminators(weight_dtype=operand), flavour):
                name = instance_name(signature, found.backend, found.config)
                key = (signature, found.backend, found.config)
                assert names.setdefault(name, key) == key
                assert name.isidentifier()
    assert len({instance_id(name) for name in names}) == len(names) > 600


def test_the_id_is_the_first_64_bits_of_sha256() -> None:
    assert instance_id("") == 0xE3B0C44298FC1C14


def test_a_name_reads_signature_then_backend_then_config() -> None:
    config = CkTileConfig(
        Tile(128, 128, 64), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE, pad_m=True
    )
    name = instance_name(parse_signature("fp16", None), Backend.CK_TILE, config)
    assert name == "gemm_fp16_rcr_ck_tile_compv3_intrawave_cshuffle_pad100_128x128x64_2x2x1_32x32x16"


def test_numbers_that_are_not_as_usual_have_words_of_their_own() -> None:
    config = CkTileConfig(
        Tile(16, 64, 64), (1, 1, 1), Tile(16, 16, 16), TilePipeline.COMPV3, partitioner_group_num=2,
        partitioner_m01=1, num_wave_groups=2, vector=8, block_per_cu=3,
    )  # fmt: skip
    assert config.text().endswith("_16x16x16_group2_m01n1_wg2_vec8_bpc3")
