"""Mutation operators on values: addresses, matrix products, masks, comparisons, conversions, constants, branches."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ckgen_emulator.mutate.change import Change, line, operands
from ckgen_emulator.mutate.code import Code, Instruction

_SWIZZLE_XOR = 0x7C00  # of ds_swizzle_b32's offset in its bit-mask mode
_OFFSET = re.compile(r" offset:(\d+)")
_OFFSET1 = re.compile(r" offset1:(\d+)")
_SIZES = {
    "ubyte": 1, "sbyte": 1, "byte": 1, "ushort": 2, "sshort": 2, "short": 2, "u16": 2, "b16": 2, "u8": 1, "b8": 1,
    "dwordx2": 8, "dwordx3": 12, "dwordx4": 16, "b64": 8, "b96": 12, "b128": 16,
}  # fmt: skip
_BOUNDARY = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt"}
_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "lg", "lg": "eq", "ne": "eq", "o": "u", "u": "o"}
_CONVERTED = {
    r"^v_cvt_f32_i32_e32": "v_cvt_f32_u32_e32",
    r"^v_cvt_f16_f32_e32": "v_cvt_u16_f16_e32",
    r"^v_cvt_pk_bf16_f32 (v\d+), (v\d+), .*": r"v_lshrrev_b32_e64 \1, 16, \2",  # truncation of the first
}
_SHIFT = re.compile(r"^(?:s_(?:lshl|lshr|ashr)_b32 .*, |v_(?:lshlrev|lshrrev|ashrrev)_b32_e32 v\d+, )(\d+)\b")
_CONSTANT = re.compile(
    r"^(?:[sv]_(?:and|add|or)\w* .*|s_movk_i32 .*|v_(?:lshl_add_u32|lshl_or_b32|add3_u32|bfe_u32) .*)"
    r"(?<![\w.:\[-])(0x[0-9a-f]+|-?\d+)\b(?![.:\]])"
)


def lds_offset_shifted(code: Code, index: int) -> Iterator[Change]:
    """An LDS access one element farther or nearer."""
    one = code.instructions[index]
    if not one.name.startswith(("ds_read", "ds_write")):
        return
    if "2" in one.name.removeprefix("ds_").split("_")[0]:
        found = _OFFSET1.search(one.text)
        yield from line(_OFFSET1.sub(f" offset1:{int(found[1]) - 1}", one.text) if found else f"{one.text} offset1:1")
        return
    yield from _shifted(one)


def memory_offset_shifted(code: Code, index: int) -> Iterator[Change]:
    """A global access one element farther or nearer."""
    one = code.instructions[index]
    if re.match(r"(global|buffer)_(load|store|atomic)_", one.text):
        yield from _shifted(one)


def _shifted(one: Instruction) -> Iterator[Change]:
    size = next((_SIZES[part] for part in one.name.split("_") if part in _SIZES), 4)
    found = _OFFSET.search(one.text)
    if found is None:
        place = re.search(r" (?:sc0|sc1|nt|lds|gds)\b", one.text)
        at = place.start() if place else len(one.text)
        yield from line(f"{one.text[:at]} offset:{size}{one.text[at:]}")
        return
    for moved in (int(found[1]) + size, int(found[1]) - size):
        if moved >= 0:
            yield from line(_OFFSET.sub(f" offset:{moved}", one.text))


def matrix_operands_swapped(code: Code, index: int) -> Iterator[Change]:
    """A and B of an MFMA exchanged."""
    text = code.instructions[index].text
    if text.startswith("v_mfma"):
        name, words, after = operands(text)
        words[1], words[2] = words[2], words[1]
        yield from line(f"{name} {', '.join(words)}{after}")


def accumulator_changed(code: Code, index: int) -> Iterator[Change]:
    """An MFMA that adds to zero instead of to what was summed so far."""
    text = code.instructions[index].text
    if text.startswith("v_mfma"):
        name, words, after = operands(text)
        if words[3] != "0":
            words[3] = "0"
            yield from line(f"{name} {', '.join(words)}{after}")


def matrix_dropped(code: Code, index: int) -> Iterator[Change]:
    """No MFMA."""
    if code.instructions[index].text.startswith("v_mfma"):
        yield Change(("s_nop 0",))


def scale_select_changed(code: Code, index: int) -> Iterator[Change]:
    """A scaled MFMA that takes a block's scale from another byte."""
    text = code.instructions[index].text
    if not text.startswith("v_mfma_scale"):
        return
    for field in ("op_sel", "op_sel_hi"):
        found = re.search(rf" {field}:\[(\d),(\d),(\d)\]", text)
        if found is None:
            at = text.index(" cbsz") if " cbsz" in text else len(text)
            yield from line(f"{text[:at]} {field}:[1,0,0]{text[at:]}")
            continue
        flipped = f" {field}:[{1 - int(found[1])},{found[2]},{found[3]}]"
        yield from line(text.replace(found[0], flipped))
        yield from line(text.replace(found[0], f" {field}:[{found[1]},{1 - int(found[2])},{found[3]}]"))


def scales_swapped(code: Code, index: int) -> Iterator[Change]:
    """The scales of A and of B exchanged."""
    text = code.instructions[index].text
    if text.startswith("v_mfma_scale"):
        name, words, after = operands(text)
        words[4], words[5] = words[5], words[4]
        yield from line(f"{name} {', '.join(words)}{after}")


def exec_changed(code: Code, index: int) -> Iterator[Change]:
    """Another operation on EXEC."""
    text = code.instructions[index].text
    if text.startswith("s_and_saveexec_b64"):
        yield from line(text.replace("s_and_", "s_or_", 1))
        yield from line(text.replace("s_and_", "s_andn2_", 1))
    elif re.match(r"s_or_b64 exec, exec", text):
        yield from line(text.replace("s_or_", "s_and_", 1))
    elif re.match(r"s_mov_b64 exec, s", text):
        yield from line(text.replace("s_mov_", "s_not_", 1))


def select_swapped(code: Code, index: int) -> Iterator[Change]:
    """Both sources of a v_cndmask exchanged."""
    one = code.instructions[index]
    if one.name == "v_cndmask_b32":
        name, words, after = operands(one.text)
        words[1], words[2] = words[2], words[1]
        yield from line(f"{name} {', '.join(words)}{after}")


def comparison_changed(code: Code, index: int) -> Iterator[Change]:
    """The bound belongs to the other side, or the answer is negated."""
    text = code.instructions[index].text
    found = re.match(r"([sv]_cmpk?x?)_([a-z]+)_([a-z]\d+)", text)
    if found is None:
        return
    for relations in (_BOUNDARY, _NEGATED):
        if (other := relations.get(found[2])) is not None:
            if other == "lg" and found[1].startswith("v") and found[3][0] != "f":
                other = "ne"
            yield from line(f"{found[1]}_{other}_{found[3]}{text[found.end() :]}")


def conversion_changed(code: Code, index: int) -> Iterator[Change]:
    """A result converted in another way: truncated, or as another type."""
    text = code.instructions[index].text
    for pattern, other in _CONVERTED.items():
        if re.match(pattern, text):
            yield from line(re.sub(pattern, other, text, count=1))


def shift_changed(code: Code, index: int) -> Iterator[Change]:
    """A shift by one bit more."""
    text = code.instructions[index].text
    if found := _SHIFT.match(text):
        yield from line(f"{text[: found.start(1)]}{(int(found[1]) + 1) % 32}{text[found.end(1) :]}")


def constant_changed(code: Code, index: int) -> Iterator[Change]:
    """A constant larger by its lowest bit, or a mask moved by two bits."""
    text = code.instructions[index].text
    if found := _CONSTANT.match(text):
        known = int(found[1], 0)
        other = known + (known & -known or 1)
        if re.match(r"[sv]_and_", text):
            other = known >> 2 if known > 0 else known << 2
        yield from line(f"{text[: found.start(1)]}{other}{text[found.end(1) :]}")


def permutation_changed(code: Code, index: int) -> Iterator[Change]:
    """Bytes, halves or lanes from elsewhere."""
    one = code.instructions[index]
    if one.name == "v_perm_b32":
        name, words, after = operands(one.text)
        words[1], words[2] = words[2], words[1]
        yield from line(f"{name} {', '.join(words)}{after}")
    for field in ("row_shr:", "row_shl:"):
        if field in one.text:
            count = int(one.text.partition(field)[2].partition(" ")[0])
            yield from line(one.text.replace(f"{field}{count}", f"{field}{count % 15 + 1}"))
    if "row_bcast:15" in one.text:
        yield from line(one.text.replace("row_bcast:15", "row_bcast:31"))
    if "swizzle(" in one.text or one.name == "ds_swizzle_b32":
        yield from line(re.sub(r"(offset:)(\d+)", lambda m: f"{m[1]}{int(m[2]) & ~_SWIZZLE_XOR}", one.text))
    if "src0_sel:WORD_1" in one.text:
        yield from line(one.text.replace("src0_sel:WORD_1", "src0_sel:WORD_0"))
    if one.name.endswith("_d16_hi"):
        yield from line(one.text.replace("_d16_hi", "", 1))


def branch_inverted(code: Code, index: int) -> Iterator[Change]:
    """A conditional branch where the other way is right."""
    text = code.instructions[index].text
    for one, other in (("scc0", "scc1"), ("scc1", "scc0"), ("vccz", "vccnz"), ("vccnz", "vccz")):
        if text.startswith(f"s_cbranch_{one} "):
            yield from line(text.replace(one, other, 1))


def m0_shifted(code: Code, index: int) -> Iterator[Change]:
    """Direct-to-LDS loads to four bytes farther on."""
    found = re.match(r"s_mov_b32 m0, (s\d+)$", code.instructions[index].text)
    if found:
        yield from line(f"s_add_u32 m0, {found[1]}, 4")
