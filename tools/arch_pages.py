"""docs/archs/<arch>.md: what an arch has kernels for, and why it has none for the rest."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ckgen.families.gemm.enums import Op, OperandOp
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.plan.answers import Answer, Answered, answered
from name_patterns import Words, patterns
from signature_space import every_signature

_OPS = (Op.GEMM, Op.GROUPED_GEMM, Op.MOE)
_WIDTH = 118
_INTRODUCTION = (
    "Made of the rules by `pytest --update-goldens tests/tools/test_arch_pages.py`: all types, layouts and scales, "
    "with one epilogue, one op of an operand and one activation for all. A library has a kernel for some signatures "
    "whatever it was made for (`codegen/ckgen/families/gemm/answered.json` and the kernel sets `default`), and for "
    "others where `--signatures` names them (`ckgen lookup` and `explain` do). `{a,b}` is each of these words, "
    "`[_c]` may be left out; fp8 and bf8 are the arch's own."
)


Answers = Mapping[Op, Sequence[tuple[GemmSignature, Answered]]]
"""By operation every signature, and how it is answered."""


def answers_of(arch: ArchSpec) -> Answers:
    """How all signatures are answered on an arch."""
    return {op: [(one, answered(one, arch)) for one in every_signature(op)] for op in _OPS}


def arch_page(arch: ArchSpec, found: Answers) -> str:
    """The page of an arch with those answers."""
    parts = [f"# {arch.name}", _filled(_INTRODUCTION), "\n".join(_counts(found))]
    for op, of_op in found.items():
        if lines := list(_reasons(of_op, Answer.NEVER)):
            parts += [f"## {op}: no kernel", "\n".join(lines)]
    if arch.kind is ArchKind.GPU:
        codeless = [pair for of_op in found.values() for pair in of_op if pair[1].answer is not Answer.NEVER]
        if lines := list(_reasons(codeless, Answer.ALWAYS, Answer.BY_NAME)):
            parts += ["## Kernels without GPU code: host twins answer", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def words_of(signature: GemmSignature) -> Words:
    """The canonical name in parts, of which names that differ in one word have the others alike."""
    plain, operands = signature.canonical(), [str(signature.a)]
    if signature.a is not signature.b:
        operands += [str(signature.b)]
    head = "_".join([str(signature.op), *operands])
    c = "" if len(operands) == 1 and signature.c is signature.a else f"_{signature.c}"
    rest = plain.removeprefix(head + c + f"_{signature.layout}")
    flags = [f"_{word}" if present else "" for word, present in _flags(signature)]
    for flag in flags:
        rest = rest.replace(flag, "", 1) if flag else rest
    return (head, c, f"_{signature.layout}", *flags[:2], rest, *flags[2:])


def _flags(signature: GemmSignature) -> Iterator[tuple[str, bool]]:
    yield str(signature.quant), f"_{signature.quant}" in signature.canonical()
    yield "preshuffle", signature.preshuffle_b
    yield "batched", signature.batched
    yield "bias", signature.bias
    yield f"a_{signature.a_op}", signature.a_op is not OperandOp.NONE
    yield "epi_" + "_".join(map(str, signature.epilogue)), bool(signature.epilogue)


def _counts(found: dict[Op, list[tuple[GemmSignature, Answered]]]) -> Iterator[str]:
    yield "| kernel in | " + " | ".join(map(str, found)) + " |"
    yield "|---|" + "---|" * len(found)
    counts = {op: Counter(one.answer for _, one in of_op) for op, of_op in found.items()}
    names = {
        Answer.ALWAYS: "every library",
        Answer.BY_NAME: "libraries that name the signature",
        Answer.NEVER: "none",
    }
    for answer, text in names.items():
        yield f"| {text} | " + " | ".join(f"{counts[op][answer]:,}" for op in found) + " |"


def _reasons(found: Iterable[tuple[GemmSignature, Answered]], *answers: Answer) -> Iterator[str]:
    """Why, and for which signatures; the most of them first."""
    by_reason: dict[str, list[GemmSignature]] = {}
    for signature, one in found:
        if one.why and one.answer in answers:
            by_reason.setdefault(one.why, []).append(signature)
    for why, signatures in sorted(by_reason.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        listed = (f"  - `{pattern}`" for pattern in patterns(map(words_of, signatures)))
        yield "\n".join((_filled(f"- {why}: {len(signatures):,}"), *listed))


def _filled(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent="  " if text.startswith("-") else "", break_on_hyphens=False)
