"""The metadata note: every form of MessagePack that it may have, what is none, and what no kernel says."""

from __future__ import annotations

import struct

import pytest
from elf_support import Object, metadata, note, packed
from object_support import ReadKernel, ReadObject, read_object

pytestmark = pytest.mark.amd


def read(content: bytes) -> ReadObject:
    """An object with that note; its one kernel is called k.kd."""
    return read_object(Object().with_section("note", note(content)).bytes())


def kernel(**fields: object) -> ReadKernel:
    """The kernel of which the metadata say that."""
    found = read(metadata({".symbol": "k.kd", **{f".{name}": value for name, value in fields.items()}}))
    assert found.error == ""
    return found.kernels[0]


def refusal(content: bytes) -> str:
    found = read(content)
    assert not found.kernels and not found.image and found.machine == 0
    return found.error


NUMBERS = (
    ("00", 0), ("01", 1), ("7f", 127), ("cc00", 0), ("cc80", 0x80), ("ccff", 0xFF), ("cd0102", 0x102),
    ("cdffff", 0xFFFF), ("ce00010203", 0x10203), ("ce01000000", 1 << 24), ("cf0000000000a1b2c3", 0xA1B2C3),
    ("d012", 0x12), ("d07f", 0x7F), ("d11234", 0x1234), ("d200a1b2c3", 0xA1B2C3), ("d30000000000a1b2c3", 0xA1B2C3),
)  # fmt: skip


@pytest.mark.parametrize(("code", "value"), NUMBERS)
def test_numbers(code: str, value: int) -> None:
    assert kernel(max_flat_workgroup_size=bytes.fromhex(code)).max_workgroup == value
    assert kernel(kernarg_segment_size=bytes.fromhex(code)).kernarg_bytes == value
    argument = {".value_kind": "by_value", ".offset": bytes.fromhex(code), ".size": 3}
    assert kernel(args=[argument]).arguments == (("by_value", value, 3),)
    argument = {".value_kind": "by_value", ".offset": 3, ".size": bytes.fromhex(code)}
    assert kernel(args=[argument]).arguments == (("by_value", 3, value),)


BEYOND = (
    "ce01000001", "ceffffffff", "cf0000000100000000", "cf8000000000000001", "e0", "ff", "d080", "d0ff", "d1ff00",
    "d28000000a", "d2ffffffff", "d3ffffffff00000000",
)  # fmt: skip
"""Above 2^24, which no kernel says, or below 0."""


@pytest.mark.parametrize("code", BEYOND)
def test_numbers_out_of_range(code: str) -> None:
    said = metadata({".symbol": "k.kd", ".max_flat_workgroup_size": bytes.fromhex(code)})
    assert refusal(said) == "the metadata's .max_flat_workgroup_size is out of range"


@pytest.mark.parametrize("length", [0, 1, 15, 16, 31, 32, 255, 256, 1000, 65535])
def test_texts(length: int) -> None:
    text = "t" * length
    forms = [packed(text)] if length < 32 else []
    forms += [b"\xd9" + bytes([length]) + text.encode()] if length < 256 else []
    forms += [b"\xda" + struct.pack(">H", length) + text.encode(), b"\xdb" + struct.pack(">I", length) + text.encode()]
    for form in forms:
        assert kernel(args=[{".value_kind": form}]).arguments == ((text, 0, 0),)


@pytest.mark.parametrize("count", [0, 1, 14, 15, 16, 257, 300])
def test_lists_and_maps(count: int) -> None:
    """Of all lengths in all forms; a key that nothing asks for has any value."""
    inside = b"".join(packed({".offset": one}) for one in range(count))
    forms = [bytes([0x90 | count]) + inside] if count < 16 else []
    for form in [*forms, b"\xdc" + struct.pack(">H", count) + inside, b"\xdd" + struct.pack(">I", count) + inside]:
        assert kernel(args=form).arguments == tuple(("", one, 0) for one in range(count))
    pairs = b"".join(packed(f"key{one}") + packed(one) for one in range(count)) + packed(".size") + b"\x05"
    forms = [bytes([0x80 | count + 1]) + pairs] if count < 15 else []
    wide = [b"\xde" + struct.pack(">H", count + 1) + pairs, b"\xdf" + struct.pack(">I", count + 1) + pairs]
    for form in [*forms, *wide]:
        assert kernel(args=[form]).arguments == (("", 0, 5),)


def test_what_nothing_asks_for_is_skipped() -> None:
    for value in (b"\xc0", True, False, -1 & 0xFF, "text", [1, [2]], {"a": {"b": []}}, b"\xff"):
        assert kernel(unknown=value, max_flat_workgroup_size=7).max_workgroup == 7


def test_what_is_not_said_is_nothing() -> None:
    found = kernel(args=[{}])
    assert (found.max_workgroup, found.kernarg_bytes, found.arguments) == (0, 0, (("", 0, 0),))
    assert kernel().arguments == ()
    [unsaid] = read(packed({})).kernels
    assert (unsaid.name, unsaid.max_workgroup, unsaid.arguments) == ("k", 0, ())


def test_hidden_arguments_are_apart() -> None:
    kinds = ["global_buffer", "hidden_none", "hidden", "by_value", "hidden_block_count_x"]
    found = kernel(args=[{".value_kind": kind, ".offset": 8 * at} for at, kind in enumerate(kinds)])
    assert found.arguments == (("global_buffer", 0, 0), ("hidden", 16, 0), ("by_value", 24, 0))
    assert found.hidden == (("hidden_none", 8, 0), ("hidden_block_count_x", 32, 0))


def nested(levels: int) -> bytes:
    return metadata(more=b"\x91" * levels + b"\x00")


WRONG = (
    (packed([1]), "the metadata is not a map"),
    (b"\x05", "the metadata is not a map"),
    (packed("text"), "the metadata is not a map"),
    (metadata() + b"\x00", "something follows the metadata"),
    (b"\x81\x01\x01", "a key of the metadata is not text"),
    (b"\x81\xc0\x01", "a key of the metadata is not text"),
    (packed({"amdhsa.target": 5}), "the metadata's amdhsa.target is of the wrong type"),
    (packed({"amdhsa.kernels": 5}), "the metadata's amdhsa.kernels is of the wrong type"),
    (packed({"amdhsa.kernels": {}}), "the metadata's amdhsa.kernels is of the wrong type"),
    (packed({"amdhsa.kernels": [{}, 5]}), "the metadata's amdhsa.kernels is no list of maps"),
    (metadata({".symbol": "k.kd", ".args": [{}, []]}), "the metadata's .args is no list of maps"),
    (metadata({".symbol": 1}), "the metadata's .symbol is of the wrong type"),
    (metadata({".symbol": "k.kd", ".kernarg_segment_size": "8"}),
     "the metadata's .kernarg_segment_size is of the wrong type"),
    (metadata({".symbol": "k.kd", ".kernarg_segment_size": True}),
     "the metadata's .kernarg_segment_size is of the wrong type"),
    (metadata({".symbol": "k.kd", ".kernarg_segment_size": b"\xc0"}),
     "the metadata's .kernarg_segment_size is of the wrong type"),
    (metadata({".symbol": "other.kd"}), "kernel other.kd: no such symbol"),
    (metadata({".symbol": "k"}), "kernel k: no such symbol"),
    (metadata({".symbol": "k.kx"}), "kernel k.kx: no such symbol"),
    (metadata({".symbol": "kk.kd"}), "kernel kk.kd: no such symbol"),
    (metadata({".symbol": "x.kd"}), "kernel x.kd: no such symbol"),
    (nested(16), "metadata nested deeper than 16"),
    *((metadata(more=bytes([tag])), f"a MessagePack type that metadata does not use: {tag}")
      for tag in (0xC1, 0xC4, 0xC9, 0xCA, 0xCB, 0xD4, 0xD8)),
)  # fmt: skip


@pytest.mark.parametrize(("content", "said"), WRONG)
def test_what_is_wrong_is_said(content: bytes, said: str) -> None:
    assert refusal(content) == said


def test_sixteen_levels_are_read() -> None:
    assert read(nested(15)).error == ""


def test_no_part_of_the_metadata_is_enough() -> None:
    forms = (
        b"\xcc\x01",
        b"\xcd\0\x01",
        b"\xce\0\0\0\x01",
        b"\xcf\0\0\0\0\0\0\0\x01",
        b"\xd9\x02ab",
        b"\xdd\0\0\0\x01\x05",
    )
    whole = metadata({".symbol": "k.kd"}, **{f"more{at}": form for at, form in enumerate(forms)})
    assert read(whole).error == ""
    for size in range(1, len(whole)):
        assert "a value of the metadata of " in refusal(whole[:size])
    assert refusal(metadata(more=b"\xd9\x05ab")).startswith("a value of the metadata of 5 bytes at byte 0 lies beyond")
