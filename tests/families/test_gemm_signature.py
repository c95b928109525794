from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.families.gemm.enums import (
    NO_MOE,
    SCALE_BLOCK_K,
    SCALE_BLOCK_N,
    EpilogueOp,
    Layout,
    MoePart,
    MoeTraits,
    Op,
    OperandOp,
    Quant,
    ScaleBlock,
    ScaleSides,
)
from ckgen.families.gemm.modules import modules, templates
from ckgen.families.gemm.signature import GemmSignature, module_of, parse_canonical, parse_signature, signatures_of_row
from ckgen.families.gemm.signature_rules import default_acc, default_scale
from ckgen.model.dtype import DType, Fp8Flavour
from ckgen.model.errors import UsageError
from ckgen.model.tuned_row import Discriminators, ExpertProduct

FNUZ, OCP = Fp8Flavour.FNUZ, Fp8Flavour.OCP
moe = st.builds(MoeTraits, st.sampled_from(MoePart), st.booleans(), st.booleans())
op_and_traits = st.sampled_from(Op).flatmap(lambda op: st.tuples(st.just(op), moe if op is Op.MOE else st.just(NO_MOE)))


def _with_op(signature: GemmSignature, op: tuple[Op, MoeTraits]) -> GemmSignature:
    return replace(signature, op=op[0], moe=op[1])


of_a_gemm = st.builds(
    GemmSignature,
    a=st.sampled_from(DType), b=st.sampled_from(DType), c=st.sampled_from(DType), acc=st.sampled_from(DType),
    scale=st.none() | st.sampled_from(DType), layout=st.sampled_from(Layout), quant=st.sampled_from(Quant),
    preshuffle_b=st.booleans(), batched=st.booleans(), bias=st.booleans(),
    epilogue=st.lists(st.sampled_from(EpilogueOp), max_size=4).map(tuple),
    a_op=st.sampled_from(OperandOp), b_op=st.sampled_from(OperandOp),
    scale_block=st.builds(
        ScaleBlock, st.sampled_from(ScaleSides), st.sampled_from(SCALE_BLOCK_N), st.sampled_from(SCALE_BLOCK_K),
    ),
)  # fmt: skip
anything = st.builds(_with_op, of_a_gemm, op_and_traits)


@st.composite
def usual(draw: st.DrawFn) -> GemmSignature:
    """Signatures that are often legal: default accumulator and scale, equal operands."""
    signature: GemmSignature = draw(anything)
    return GemmSignature.of(
        signature.a, draw(st.sampled_from([DType.BF16, DType.FP16, DType.FP32, DType.INT32])),
        layout=signature.layout, quant=signature.quant, preshuffle_b=signature.preshuffle_b,
        batched=signature.batched, bias=signature.bias,
    )  # fmt: skip


@given(anything | usual())
def test_canonical_names_parse_back_and_are_identifiers(signature: GemmSignature) -> None:
    name = signature.canonical()
    assert parse_canonical(name) == signature
    assert name.isidentifier()


@given(st.lists(anything | usual(), min_size=2, max_size=30, unique=True))
def test_no_two_signatures_share_a_name(signatures: list[GemmSignature]) -> None:
    assert len({signature.canonical() for signature in signatures}) == len(signatures)


@pytest.mark.parametrize(
    ("text", "flavour", "canonical"),
    [
        ("a8w8_blockscale", FNUZ, "gemm_fp8_fnuz_bf16_rcr_blockscale"),
        ("a8w8_blockscale", OCP, "gemm_fp8_ocp_bf16_rcr_blockscale"),
        ("a8w8_blockscale", None, "gemm_fp8_bf16_rcr_blockscale"),
        ("a8w8_blockscale:fp16", OCP, "gemm_fp8_ocp_fp16_rcr_blockscale"),
        ("a8w8_blockscale_bpreshuffle", OCP, "gemm_fp8_ocp_bf16_rcr_blockscale_preshuffle"),
        ("a8w8:int8", OCP, "gemm_int8_bf16_rcr_rowwise"),
        ("a8w8:int8:fp16", OCP, "gemm_int8_fp16_rcr_rowwise"),
        ("a8w8:fp16:int8", OCP, "gemm_int8_fp16_rcr_rowwise"),
        ("a8w8:fp8", FNUZ, "gemm_fp8_fnuz_bf16_rcr_rowwise"),
        ("a8w8:bias:fp8_ocp", FNUZ, "gemm_fp8_ocp_bf16_rcr_rowwise_bias"),
        ("a8w8_bpreshuffle", FNUZ, "gemm_fp8_fnuz_bf16_rcr_rowwise_preshuffle"),
        ("a4w4_blockscale", OCP, "gemm_fp4_bf16_rcr_mx_preshuffle"),
        ("batched_a8w8", OCP, "gemm_int8_bf16_rcr_rowwise_batched"),
        ("batched_bf16", OCP, "gemm_bf16_rcr_batched"),
        ("mxfp8", OCP, "gemm_fp8_ocp_bf16_rcr_mx"),
        ("fp16", FNUZ, "gemm_fp16_rcr"),
        ("fp32:rrr", FNUZ, "gemm_fp32_rrr"),
        ("bf16:fp32", FNUZ, "gemm_bf16_fp32_rcr"),
        ("bf16:crr:bias", FNUZ, "gemm_bf16_crr_bias"),
        ("int8", FNUZ, "gemm_int8_int32_rcr"),
        ("fp8", FNUZ, "gemm_fp8_fnuz_bf16_rcr"),
        ("bf8", OCP, "gemm_bf8_ocp_bf16_rcr"),
        ("gemm_fp8_bf8_fp16_rcr", OCP, "gemm_fp8_ocp_bf8_ocp_fp16_rcr"),
        ("gemm_fp16_rcr_acc_fp16", OCP, "gemm_fp16_rcr_acc_fp16"),
    ],
)
def test_aliases_mean_what_they_say(text: str, flavour: Fp8Flavour | None, canonical: str) -> None:
    assert parse_signature(text, flavour).canonical() == canonical


WRONG = [
    ("a8w8", "a8w8:int8 or a8w8:fp8"),
    ("a8w8:int9", "did you mean 'int8'"),
    ("a8w8:int8:int8", "unknown word"),
    ("a8w8:int8:rcr:rcr", "unknown word"),
    ("a8w8_blokscale", "did you mean 'a8w8_blockscale'"),
    ("a8w8_blockscale:int8", "unknown word"),
    ("a8w8_blockscale:rrr", "needs layout rcr"),
    ("fp32:int32", "C cannot be int32"),
    ("", "unknown signature"),
    ("gemm_", "not a canonical"),
    ("gemm_fp16_fp16_rcr", "not a canonical"),
    ("gemm_fp16_rcr_none", "not a canonical"),
    ("gemm_fp16_rcr_bias_batched", "not a canonical"),
    ("gemm_fp16_rcr_acc_fp32", "not a canonical"),
    ("gemm_fp4_bf16_rcr", "fp4 needs quantisation mx"),
    ("gemm_fp8_fnuz_bf8_ocp_bf16_rcr", "one flavour"),
    ("gemm_bf8_ocp_fp4_bf16_rcr_mx", "only fp8_ocp with fp4 under mx mix"),
    ("gemm_fp4_fp8_ocp_bf16_rcr_mx", "only fp8_ocp with fp4 under mx mix"),
    ("gemm_fp8_fnuz_bf16_rcr_mx", "takes bf8_ocp, fp4, fp8_ocp"),
    ("gemm_fp16_rcr_epi_relu_relu_relu_relu", "at most 3 steps"),
    ("gemm_fp16_rcr_epi_add_mul_add", "at most 2 D tensors"),
    ("gemm_int8_int32_rcr_epi_relu", "no epilogue is defined for C of int32"),
    ("gemm_fp8_ocp_bf16_rcr_a_add", "A of two tensors cannot be fp8_ocp"),
    ("gemm_fp16_rcr_preshuffle_b_mul", "preshuffled B does not come from two"),
    ("gemm_fp16_rcr_scales_b_1x64", "without block scales"),
    ("gemm_fp8_ocp_bf16_rcr_blockscale_scales_a_64x128", "where B has no scales"),
    ("gemm_fp8_ocp_bf16_rcr_blockscale_scales_b_3x128", "no scale block of b 3x128"),
    ("gemm_fp8_ocp_int4_bf16_rcr_blockscale", "B's alone"),
    ("gemm_int8_int4_bf16_rcr", "an int4 B goes with A of"),
    ("gemm_fp16_int4_fp16_rrr", "packed along K"),
    ("gemm_fp16_int4_fp16_rcr_preshuffle", "no preshuffled form of int4"),
]


@pytest.mark.parametrize(("text", "says"), WRONG)
def test_a_wrong_signature_says_why(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_signature(text, FNUZ)


def test_what_is_said_of_wrong_signatures(golden: Callable[[str, str], None]) -> None:
    texts = []
    for text, _ in WRONG:
        with pytest.raises(UsageError) as error:
            parse_signature(text, FNUZ)
        texts.append(f"{error.value}\n")
    golden("families/wrong_signatures.txt", "".join(texts))


@given(usual())
def test_a_legal_signature_stays_legal_in_both_flavours(signature: GemmSignature) -> None:
    for flavour in Fp8Flavour:
        resolved = signature.resolved(flavour)
        assert DType.FP8 not in (resolved.a, resolved.b)
        if not signature.problems():
            assert not resolved.problems()


@given(anything)
def test_legality_is_of_the_fields_alone(signature: GemmSignature) -> None:
    if signature.problems():
        with pytest.raises(UsageError):
            parse_signature(signature.canonical(), None)
    else:
        assert parse_signature(signature.canonical(), None) == signature


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("grouped:a8w8_blockscale", "grouped_gemm_fp8_bf16_rcr_blockscale"),
        ("grouped:fp16:crr:bias", "grouped_gemm_fp16_crr_bias"),
        ("moe:bf16:gated:silu", "moe_bf16_rcr_layer_gated_epi_silu"),
        ("moe:mxfp8:gate_up:weightfirst", "moe_fp8_ocp_bf16_rcr_mx_gate_up_weightfirst"),
        ("moe:mxfp8:gate_up:gated:weightfirst:gelu", "moe_fp8_ocp_bf16_rcr_mx_gate_up_gated_weightfirst_epi_gelu"),
        ("moe:a8w8:int8:down", "moe_int8_bf16_rcr_rowwise_down"),
    ],
)
def test_aliases_of_groups_and_experts(text: str, canonical: str) -> None:
    assert parse_signature(text, None).canonical() == canonical
    assert parse_signature(canonical, None).canonical() == canonical


WRONG_GROUPS = [
    ("moe:bf16", "one activation"),
    ("moe:bf16:down:gated", "no gate"),
    ("moe:bf16:down:silu", "no activation"),
    ("moe:bf16:rrr:silu", "layout rcr"),
    ("moe:bf16:bias:silu", "no bias"),
    ("grouped:batched_bf16", "place of a batch"),
    ("grouped:bf16:silu", "unknown word"),
    ("moe:bf16:silu:gelu", "unknown word"),
    ("moe_bf16_rcr_epi_silu", "not a canonical"),
    ("grouped_gemm_fp32_rcr_a_add", "operands of two tensors"),
]


@pytest.mark.parametrize(("text", "said"), WRONG_GROUPS)
def test_what_groups_and_experts_cannot_be(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_signature(text, None)


def test_what_is_said_of_wrong_groups_and_experts(golden: Callable[[str, str], None]) -> None:
    texts = []
    for text, _ in WRONG_GROUPS:
        with pytest.raises(UsageError) as error:
            parse_signature(text, None)
        texts.append(f"{error.value}\n")
    golden("families/wrong_groups.txt", "".join(texts))


LEGAL = GemmSignature.of(DType.FP8_OCP, DType.BF16, quant=Quant.BLOCKSCALE, preshuffle_b=True)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("a", DType.INT32), ("b", DType.BF8_FNUZ), ("c", DType.INT8), ("acc", DType.FP16), ("scale", DType.E8M0),
        ("layout", Layout.RRR), ("quant", Quant.NONE),
    ],
)  # fmt: skip
def test_every_field_takes_part_in_legality(field: str, value: object) -> None:
    assert not LEGAL.problems()
    assert replace(LEGAL, **{field: value}).problems()  # type: ignore[arg-type]


def test_every_alias_describes_itself_by_its_own_name() -> None:
    for name, template in templates().items():
        text = f"{name}:{template.operands[0]}" if template.operand is None else name
        for flavour in (None, OCP):
            assert parse_signature(text, flavour).describe().startswith(name.split("_ocp")[0].split("_fnuz")[0])
    assert parse_signature("a8w8_blockscale", FNUZ).describe() == "a8w8_blockscale fp8_fnuz·fp8_fnuz→bf16 rcr"
    assert parse_signature("bf16:bias", FNUZ).describe() == "bf16 bf16·bf16→bf16 rcr bias"


def test_a_row_without_an_out_type_stands_for_two_signatures() -> None:
    row = Discriminators(weight_dtype=DType.INT8)
    assert [s.c for s in signatures_of_row("a8w8", row, OCP)] == [DType.BF16, DType.FP16]
    assert [s.c for s in signatures_of_row("batched_bf16", Discriminators(), OCP)] == [DType.BF16, DType.FP16]
    with pytest.raises(UsageError):
        signatures_of_row("a8w8", Discriminators(), OCP)


def test_rows_of_different_meaning_never_share_a_signature() -> None:
    meanings: dict[GemmSignature, object] = {}
    for module in modules():
        for dtype in (DType.BF16, DType.FP16) if module == "bf16" else (None,):
            for out in (None, DType.BF16, DType.FP32):
                for flags in range(8):
                    row = Discriminators(
                        weight_dtype=DType.FP8_OCP if module == "a8w8" else None, in_dtype=dtype, out_dtype=out,
                        bias=bool(flags & 1), scale_ab=bool(flags & 2), preshuffle_b=bool(flags & 4),
                    )  # fmt: skip
                    if module not in ("bf16", "a8w8") and flags & 6:
                        continue
                    if module == "a8w8" and flags & 6:
                        continue
                    for signature in signatures_of_row(module, row, OCP):
                        key = (module, dtype, out or signature.c, flags)
                        assert meanings.setdefault(signature, key) == key


def test_a_module_is_found_from_its_signatures() -> None:
    for name, module in modules().items():
        operand = module.template.operand or DType.INT8
        for signature in signatures_of_row(name, Discriminators(weight_dtype=operand), OCP):
            assert module_of(signature) == name
    assert module_of(GemmSignature.of(DType.FP32, DType.FP32)) is None


def test_defaults_of_accumulator_and_scale() -> None:
    assert default_acc(DType.INT8, DType.INT8) is DType.INT32
    assert default_acc(DType.FP64, DType.FP64) is DType.FP64
    assert default_acc(DType.FP8, DType.BF8) is DType.FP32
    assert [default_scale(quant) for quant in Quant] == [None, DType.FP32, DType.FP32, DType.FP32, DType.E8M0]
    assert GemmSignature.of(DType.FP16, DType.FP16).scale_block == ScaleBlock()


def test_a_row_of_expert_products_stands_for_every_part_that_has_them() -> None:
    for weighted, first in ((True, "_weightfirst"), (False, "")):
        found = signatures_of_row("mxfp8", Discriminators(experts=ExpertProduct(True, weighted)), Fp8Flavour.OCP)
        assert [one.canonical() for one in found] == [
            f"moe_fp8_ocp_bf16_rcr_mx_gate_up{gated}{first}{act}"
            for gated, raw in (("_gated", ()), ("", ("",)))
            for act in (*raw, "_epi_gelu", "_epi_relu", "_epi_silu")
        ]
    for weighted, first in ((True, ""), (False, "_weightfirst")):
        (down,) = signatures_of_row("mxfp8", Discriminators(experts=ExpertProduct(False, weighted)), Fp8Flavour.OCP)
        assert down.canonical() == f"moe_fp8_ocp_bf16_rcr_mx_down{first}"


def test_a_row_must_name_the_type_of_operands_that_its_module_leaves_open() -> None:
    with pytest.raises(UsageError) as caught:
        signatures_of_row("a8w8", Discriminators(), None)
    assert str(caught.value) == "a row of a8w8 must name the type of its operands"


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ("a8w8_blockscale", "a8w8_blockscale fp8·fp8→bf16 rcr"),
        ("gemm_fp16_rrr_bias", "fp16 fp16·fp16→fp16 rrr bias"),
        ("moe:bf16:gated:silu:weightfirst", "bf16·bf16→bf16 rcr layer gated weightfirst epi silu"),
    ],
)
def test_a_signature_is_described_for_people(text: str, described: str) -> None:
    assert parse_signature(text, None).describe().endswith(described)
