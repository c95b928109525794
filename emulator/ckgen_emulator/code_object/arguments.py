"""The file that says how a kernel is launched: YAML, read strictly, with every error located.

Keys: `target`, `grid` (workgroups) and `block` (work items), 1 to 3 sizes each, `dynamic_lds` (bytes), `arguments`.
An argument is a scalar (`type`, `value`) or an array (`file`, or `shape`, `dtype` and `fill`), whose address is passed.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.document import YAML, DocumentError, read_text
from ckgen.model.errors import InputError
from ckgen.model.located_yaml import Located, read_documents

_KEYS = ("target", "grid", "block", "dynamic_lds", "arguments")
_REQUIRED = ("target", "grid", "block", "arguments")
_SCALAR = frozenset({"name", "offset", "type", "value"})
_ARRAY = frozenset({"name", "offset", "file", "shape", "dtype", "fill", "output", "expected", "tolerance"})
_NARROW = ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
_WIDE = (
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
)  # fmt: skip
_FILLS = ("unwritten", "zeros", "ones", "arange", "random", "nan")
_LARGEST = 1 << 34


@dataclass(frozen=True, slots=True)
class Scalar:
    """Bytes that are passed as they are."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Array:
    """Memory whose address is passed. `written` false: the kernel may not read before it has written.

    `expected` within `tolerance`, absolute, is what it must hold in the end.
    """

    values: NDArray[Any]
    written: bool
    output: bool
    expected: NDArray[Any] | None
    tolerance: float


@dataclass(frozen=True, slots=True)
class Argument:
    """`offset` in the kernarg segment in bytes, None where the code object or the order tells it."""

    name: str
    offset: int | None
    value: Scalar | Array
    location: Location


@dataclass(frozen=True, slots=True)
class Arguments:
    """A launch; `target` as in gfx942 or gfx942:304."""

    target: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_lds: int
    arguments: tuple[Argument, ...]
    location: Location


def read_arguments(path: Path) -> Arguments:
    """The launch in a file; InputError (E001 … E004) carries everything that is wrong. Paths in it are beside it."""
    try:
        text = read_text(path, YAML)
    except DocumentError as error:
        raise InputError([error.diagnostic("E001", path)]) from error
    reader = _Reader(path.parent)
    documents = read_documents(text, str(path), reader.report)
    found = reader.launch(documents[0], path) if len(documents) == 1 else None
    if len(documents) != 1 and not reader.errors:
        reader.report(Diagnostic("E001", f"{len(documents)} documents where one is expected", Location(str(path))))
    if reader.errors:
        raise InputError(reader.errors)
    assert found is not None
    return found


def dtype_of(name: str) -> np.dtype[Any] | None:
    """The type of that name; None where there is none."""
    if name in _NARROW:
        narrow: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return narrow
    return np.dtype(name) if name in _WIDE else None


class _Reader:
    """Turns a document into a launch and keeps every error."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.errors: list[Diagnostic] = []

    def report(self, diagnostic: Diagnostic) -> None:
        self.errors.append(diagnostic)

    def launch(self, node: Located, path: Path) -> Arguments | None:
        fields = self._fields(node, _KEYS, _REQUIRED)
        if not fields:
            return None
        target = str(fields["target"].value) if "target" in fields else ""
        grid = self._sizes(fields.get("grid"), 2**31 - 1)
        block = self._sizes(fields.get("block"), 1024)
        lds = self._integer(fields["dynamic_lds"], 0, 1 << 20) if "dynamic_lds" in fields else 0
        listed = fields["arguments"].value if "arguments" in fields else []
        if not isinstance(listed, list):
            self._say("E004", fields["arguments"], "arguments must be a list")
            listed = []
        arguments = [found for number, one in enumerate(listed) if (found := self._argument(one, number))]
        names: dict[str, Location] = {}
        for one in arguments:
            first = names.setdefault(one.name, one.location)
            if first is not one.location:
                self.report(
                    Diagnostic("E004", f"two arguments are called '{one.name}'", one.location, related=(first,))
                )
        return Arguments(target, grid, block, lds, tuple(arguments), Location(str(path)))

    def _argument(self, node: Located, number: int) -> Argument | None:
        if not isinstance(node.value, dict):
            self._say("E004", node, "an argument must be a mapping")
            return None
        scalar = "type" in node.value or "value" in node.value
        fields = self._fields(node, sorted(_SCALAR if scalar else _ARRAY), ("type", "value") if scalar else ())
        name = str(fields["name"].value) if "name" in fields else f"argument{number}"
        offset = self._integer(fields["offset"], 0, 1 << 16) if "offset" in fields else None
        value = self._scalar(fields) if scalar else self._array(node, fields)
        return Argument(name, offset, value, node.location) if value is not None else None

    def _scalar(self, fields: dict[str, Located]) -> Scalar | None:
        if "type" not in fields or "value" not in fields:
            return None
        dtype = self._dtype(fields["type"])
        if dtype is None:
            return None
        text = fields["value"].value
        try:
            if dtype.kind in "iu":
                whole = int(str(text), 0)
                if not np.iinfo(dtype).min <= whole <= np.iinfo(dtype).max:
                    raise ValueError
                return Scalar(np.array([whole], dtype).tobytes())
            return Scalar(np.array([float(str(text))]).astype(dtype).tobytes())
        except ValueError:
            self._say("E004", fields["value"], f"not a value of {fields['type'].value}: '{text}'")
            return None

    def _array(self, node: Located, fields: dict[str, Located]) -> Array | None:
        generated = [key for key in ("shape", "dtype", "fill") if key in fields]
        if "file" in fields:
            for key in generated:
                if key != "dtype":
                    self._say("E004", fields[key], f"'{key}' goes without 'file'")
            values, written = self._file(fields["file"], fields.get("dtype")), True
        elif "shape" in fields and "dtype" in fields:
            values, written = self._generated(fields)
        else:
            self._say("E003", node, "an argument needs 'type' and 'value', or 'file', or 'shape' and 'dtype'")
            return None
        expected = self._file(fields["expected"], None) if "expected" in fields else None
        if values is None:
            return None
        if expected is not None:
            if expected.dtype.kind == "V" and expected.dtype.itemsize == values.dtype.itemsize:
                expected = expected.view(values.dtype)
            if expected.shape != values.shape:
                self._say("E004", fields["expected"], f"its shape is {expected.shape}, the argument's {values.shape}")
        tolerance = self._number(fields["tolerance"]) if "tolerance" in fields else 0.0
        output = self._choice(fields["output"], ("true", "false")) == "true" if "output" in fields else False
        return Array(values, written, output, expected, tolerance)

    def _file(self, node: Located, dtype: Located | None) -> NDArray[Any] | None:
        try:
            values: NDArray[Any] = np.load(self.folder / str(node.value), allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            self._say("E001", node, f"cannot read {node.value}: {reason}")
            return None
        found = self._dtype(dtype) if dtype is not None else None
        if found is not None and found != values.dtype:
            if values.dtype.kind != "V" or values.dtype.itemsize != found.itemsize:  # how numpy keeps ml_dtypes
                self._say("E004", dtype or node, f"{node.value} holds {values.dtype}, not {found}")
                return None
            values = values.view(found)
        return np.ascontiguousarray(values)

    def _generated(self, fields: dict[str, Located]) -> tuple[NDArray[Any] | None, bool]:
        dtype = self._dtype(fields["dtype"])
        sizes = [self._integer(one, 1, _LARGEST) for one in fields["shape"].items()]
        fill = self._choice(fields["fill"], _FILLS) if "fill" in fields else "unwritten"
        if dtype is None or self.errors:
            return None, False
        count = math.prod(sizes)
        if count * dtype.itemsize > _LARGEST:
            self._say("E004", fields["shape"], f"{count} elements are too many")
            return None, False
        if fill == "nan" and dtype.kind in "iu":
            self._say("E004", fields["fill"], f"{dtype} has no nan")
            return None, False
        return _filled(count, dtype, fill).reshape(sizes), fill != "unwritten"

    def _fields(self, node: Located, known: Collection[str], required: Collection[str]) -> dict[str, Located]:
        if not isinstance(node.value, dict):
            self._say("E004", node, "a mapping is expected")
            return {}
        for key, value in node.value.items():
            if key not in known:
                self._say("E002", value, f"unknown key '{key}'", f"known: {', '.join(known)}")
        for key in required:
            if key not in node.value:
                self._say("E003", node, f"key '{key}' is missing")
        return {key: value for key, value in node.value.items() if key in known}

    def _sizes(self, node: Located | None, most: int) -> tuple[int, int, int]:
        if node is None:
            return (1, 1, 1)
        found = [self._integer(one, 1, most) for one in node.items()]
        if not 1 <= len(found) <= 3:
            self._say("E004", node, "1 to 3 sizes are expected")
        x, y, z = [*found, 1, 1, 1][:3]
        return (x, y, z)

    def _integer(self, node: Located, least: int, most: int) -> int:
        try:
            value = int(str(node.value), 0)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            self._say("E004", node, f"an integer from {least} to {most} is expected, not '{node.value}'")
            return least
        return value

    def _number(self, node: Located) -> float:
        try:
            value = float(str(node.value))
        except ValueError:
            value = -1.0
        if not 0 <= value < math.inf:
            self._say("E004", node, f"a number of at least 0 is expected, not '{node.value}'")
            return 0.0
        return value

    def _choice(self, node: Located, known: Collection[str]) -> str:
        if node.value not in known:
            self._say("E004", node, f"'{node.value}' is none of {', '.join(known)}")
        return str(node.value)

    def _dtype(self, node: Located) -> np.dtype[Any] | None:
        found = dtype_of(str(node.value))
        if found is None:
            self._say("E004", node, f"unknown type '{node.value}'", f"known: {', '.join((*_WIDE, *_NARROW))}")
        return found

    def _say(self, code: str, node: Located, message: str, hint: str | None = None) -> None:
        self.report(Diagnostic(code, message, node.location, hint=hint))


def _filled(count: int, dtype: np.dtype[Any], fill: str) -> NDArray[Any]:
    if fill == "random":
        random = np.random.default_rng(0)
        whole = random.integers(-8, 9, count) if dtype.kind != "u" else random.integers(0, 17, count)
        return whole.astype(np.float64).astype(dtype)
    if fill == "arange":
        return np.arange(count, dtype=np.int64).astype(dtype)
    if fill == "unwritten":
        return np.full(count * dtype.itemsize, 0xFF, np.uint8).view(dtype)
    value = {"zeros": 0.0, "ones": 1.0, "nan": np.nan}[fill]
    return np.full(count, value).astype(dtype)
