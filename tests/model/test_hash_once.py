"""Keys keep their hash, which is that of their fields and stays in its process."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from ckgen.families.gemm.signature import parse_signature
from ckgen.model.hash_once import HashOnce, hash_once

asked: list[int] = []


@dataclass(frozen=True, slots=True)
class Counted:
    number: int

    def __hash__(self) -> int:
        asked.append(self.number)
        return hash(self.number)


@hash_once
@dataclass(frozen=True, slots=True)
class Key(HashOnce):
    of: Counted
    name: str = ""


def test_fields_are_hashed_once_for_each_object() -> None:
    asked.clear()
    one, other = Key(Counted(7)), Key(Counted(7))
    assert {one: 1}[one] == 1 and one in {one}
    assert asked == [7]
    assert one == other and hash(one) == hash(other) and {one: 2}[other] == 2
    assert asked == [7, 7]


def test_a_changed_copy_has_a_hash_of_its_own() -> None:
    one = Key(Counted(7))
    hash(one)
    assert hash(replace(one, name="other")) == hash(Key(Counted(7), "other")) != hash(one)


def test_a_hash_is_never_pickled() -> None:
    """Hashes of enums' members are of one process."""
    signature = parse_signature("a8w8:int8:fp16", None)
    hash(signature)
    read = pickle.loads(pickle.dumps(signature))
    assert not hasattr(read, "_hash")
    assert read == signature and hash(read) == hash(signature)


def test_keys_stay_frozen() -> None:
    one = Key(Counted(7))
    with pytest.raises(FrozenInstanceError):
        one.name = "other"  # type: ignore[misc]
