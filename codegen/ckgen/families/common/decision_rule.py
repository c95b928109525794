"""Decision rules: for a shape without a measured row, conditions lead to a kernel, or to none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from ckgen.model.hash_once import HashOnce, hash_once
from ckgen.model.target import Target

_CONDITION = re.compile(
    r"(?P<feature>[A-Z]+)(?:\((?P<m>[0-9]+)(?:x(?P<n>[0-9]+))?\))? (?P<comparison><=|<|==) (?P<limit>[0-9]+)"
)
_MOST_ROWS, _MOST_TILES = 2**40, 2**50
"""Beyond, a share in thousandths would leave 64 bits; it does not change any more long before."""


class Feature(Enum):
    """The integers that conditions look at; MN is M · N, in 64 bits.

    ROWS are those of one product: of a busy expert, of a group, M of a GEMM. CUS are the device's compute units. Of
    output tiles of m rows and n columns, as in `TILES(64x128)`: TILES cover ROWS x N; WAVES of one tile per CU do them
    all; FILL is the share of the CUs of those waves that has a tile, PAD(m) the rows of the tiles over ROWS, both in
    thousandths, rounded down.
    """

    M = "M"
    N = "N"
    K = "K"
    MN = "MN"
    ROWS = "ROWS"
    CUS = "CUS"
    TILES = "TILES"
    WAVES = "WAVES"
    FILL = "FILL"
    PAD = "PAD"

    @property
    def tile_sizes(self) -> int:
        """How many sizes of a tile follow the word."""
        if self is Feature.PAD:
            return 1
        return 2 if self in (Feature.TILES, Feature.WAVES, Feature.FILL) else 0


_FEATURES = ", ".join(feature.value + ("", "(m)", "(mxn)")[feature.tile_sizes] for feature in Feature)


class Comparison(Enum):
    """How a feature is held against a limit."""

    AT_MOST = "<="
    BELOW = "<"
    EQUAL = "=="


@dataclass(frozen=True, slots=True)
class Asked:
    """What features are taken of. `rows` and `cu_num` as Feature says."""

    m: int
    n: int
    k: int
    rows: int
    cu_num: int


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison of a feature with a constant; the tile is 0 x 0 where the feature has none."""

    feature: Feature
    comparison: Comparison
    limit: int
    tile_m: int = 0
    tile_n: int = 0

    def holds(self, asked: Asked) -> bool:
        """Whether the comparison is true."""
        value = value_of(self.feature, asked, self.tile_m, self.tile_n)
        if self.comparison is Comparison.AT_MOST:
            return value <= self.limit
        return value < self.limit if self.comparison is Comparison.BELOW else value == self.limit

    def __str__(self) -> str:
        sizes = "x".join(str(size) for size in (self.tile_m, self.tile_n)[: self.feature.tile_sizes])
        return f"{self.feature.value}{f'({sizes})' if sizes else ''} {self.comparison.value} {self.limit}"


def value_of(feature: Feature, asked: Asked, tile_m: int = 0, tile_n: int = 0) -> int:
    """The feature's value, as `value_of` of src/select/walk_heuristics.hpp."""
    match feature:
        case Feature.M:
            return asked.m
        case Feature.N:
            return asked.n
        case Feature.K:
            return asked.k
        case Feature.MN:
            return asked.m * asked.n
        case Feature.ROWS:
            return asked.rows
        case Feature.CUS:
            return asked.cu_num
        case _:
            return _of_tiles(feature, asked, tile_m, tile_n)


def _of_tiles(feature: Feature, asked: Asked, tile_m: int, tile_n: int) -> int:
    rows, cu_num = max(asked.rows, 1), max(asked.cu_num, 1)
    down = -(-rows // tile_m)
    if feature is Feature.PAD:
        rows = min(rows, _MOST_ROWS)
        return 1000 * (-(-rows // tile_m) * tile_m) // rows
    tiles = down * -(-asked.n // tile_n)
    if feature is Feature.TILES:
        return tiles
    if feature is Feature.FILL:
        tiles = min(tiles, _MOST_TILES)
    waves = -(-tiles // cu_num)
    return waves if feature is Feature.WAVES else 1000 * tiles // max(waves * cu_num, 1)


@dataclass(frozen=True, slots=True, order=True)
class Leaf:
    """What is chosen: a library's kernel by its name in the module's tables, and its number of splits."""

    library: str
    kernel: str
    k_batch: int = 1


Next = int | None
"""What follows a condition: a node if not negative, else the leaf ~value; None: the rule has no answer."""


@dataclass(frozen=True, slots=True)
class Node:
    """Where the condition leads to; nodes only lead to later ones."""

    condition: Condition
    then: Next
    otherwise: Next


@hash_once
@dataclass(frozen=True, slots=True)
class DecisionRule(HashOnce):
    """Nodes and leaves of one module on one arch; the first node is the root, without any the first leaf answers.

    `module` is that of tables, or the name of the one signature that the rule is of. `others` has for each leaf, best
    first, what takes its place where its kernel is not built; it may be empty as a whole. `sku` is the third part of
    the targets that the rule answers; empty: any product's.
    """

    arch: str
    module: str
    leaves: tuple[Leaf, ...]
    nodes: tuple[Node, ...]
    others: tuple[tuple[Leaf, ...], ...] = ()
    sku: str = ""

    def is_for(self, target: Target) -> bool:
        """Whether it answers that device."""
        return self.arch == target.gfx and self.sku in ("", target.sku)

    def concerns(self, target: Target) -> bool:
        """Whether it answers devices of that target, which without a product are those of all."""
        return self.is_for(target if target.sku else target._replace(sku=self.sku))

    def choices(self, leaf: int) -> tuple[Leaf, ...]:
        """A leaf, and behind it what takes its place, best first."""
        return self.leaves[leaf], *(self.others[leaf] if self.others else ())

    @property
    def every_choice(self) -> tuple[Leaf, ...]:
        """Each once."""
        return tuple(dict.fromkeys(one for leaf in range(len(self.leaves)) for one in self.choices(leaf)))

    def choosing(self, chosen: Sequence[Leaf | None]) -> DecisionRule:
        """The rule with these in place of its leaves, each one of its `choices`; None leaves the leaf as it is."""
        leaves = tuple(one if one is not None else leaf for one, leaf in zip(chosen, self.leaves, strict=True))
        return replace(self, leaves=leaves)

    def among(self, is_there: Callable[[Leaf], bool]) -> tuple[Leaf | None, ...]:
        """Of each leaf the first of its choices that is there; None where none is."""
        every = map(self.choices, range(len(self.leaves)))
        return tuple(next(filter(is_there, choices), None) for choices in every)

    def evaluate(self, m: int, n: int, k: int, *, rows: int | None = None, cu_num: int = 0) -> int | None:
        """The index of the leaf that answers; None if none does. `rows` are M unless said."""
        asked = Asked(m, n, k, m if rows is None else rows, cu_num)
        at: Next = 0 if self.nodes else ~0 if self.leaves else None
        while at is not None and at >= 0:
            node = self.nodes[at]
            at = node.then if node.condition.holds(asked) else node.otherwise
        return None if at is None else ~at

    def kernel(self, m: int, n: int, k: int) -> str | None:
        """The kernel of the leaf that answers, where M is all that there is of rows."""
        leaf = self.evaluate(m, n, k)
        return None if leaf is None else self.leaves[leaf].kernel


def parse_rule(data: Mapping[str, Any], arch: str) -> DecisionRule:
    """A rule from its JSON, for one arch of its family.

    It is of a `module` or of a `signature`. `arms` are tried in order; all of `when` leads to the arm's kernel, of the
    rule's `library`. `tree` is a number of `leaves`, null for no answer, or has `if` with what follows in `then` and
    `else`; a leaf's `others` take its place in that order. With `sku` it is that product's alone. ValueError names a
    condition that means nothing.
    """
    others: tuple[tuple[Leaf, ...], ...] = ()
    if "tree" in data:
        leaves = tuple(map(_leaf, data["leaves"]))
        others = tuple(tuple(map(_leaf, one.get("others", ()))) for one in data["leaves"])
        nodes: list[Node] = []
        _tree(data["tree"], nodes)
    else:
        leaves = tuple(Leaf(data["library"], arm["kernel"]) for arm in data["arms"])
        nodes = _arms([arm["when"] for arm in data["arms"]])
    return DecisionRule(
        arch, subject_of(data), leaves, tuple(nodes), others if any(others) else (), data.get("sku", "")
    )


def in_order(rules: Iterable[DecisionRule]) -> tuple[DecisionRule, ...]:
    """As they are asked: those of single products, by name, before that of all."""
    return tuple(sorted(rules, key=lambda rule: (not rule.sku, rule.sku)))


def subject_of(data: Mapping[str, Any]) -> str:
    """The module of tables or the signature that a rule's JSON is of."""
    return str(data["signature"] if "signature" in data else data["module"])


def _leaf(data: Mapping[str, Any]) -> Leaf:
    return Leaf(data["library"], data["kernel"], data.get("k_batch", 1))


def _arms(arms: Sequence[Sequence[str]]) -> list[Node]:
    """The first arm whose conditions hold: each that does not leads to the arm below, if there is one."""
    starts = [sum(map(len, arms[:index])) if when else ~index for index, when in enumerate(arms)]
    below: list[Next] = [*starts[1:], None]
    nodes: list[Node] = []
    for index, when in enumerate(arms):
        for place, text in enumerate(when):
            then = ~index if place + 1 == len(when) else len(nodes) + 1
            nodes.append(Node(parse_condition(text), then, below[index]))
        if not when:
            break  # no later arm is ever reached
    return nodes


def _tree(data: Any, nodes: list[Node]) -> Next:
    """Parents stand before children."""
    if data is None or isinstance(data, int):
        return None if data is None else ~data
    at, condition = len(nodes), parse_condition(data["if"])
    nodes.append(Node(condition, None, None))
    nodes[at] = Node(condition, _tree(data["then"], nodes), _tree(data["else"], nodes))
    return at


def parse_condition(text: str) -> Condition:
    """The inverse of `str`; ValueError where it means nothing."""
    match = _CONDITION.fullmatch(text)
    feature = Feature.__members__.get(match["feature"]) if match is not None else None
    sizes = [int(size) for size in (match["m"], match["n"]) if size is not None] if match is not None else []
    if match is None or feature is None or len(sizes) != feature.tile_sizes or 0 in sizes:
        raise ValueError(f"not a condition: '{text}' (expected {_FEATURES}, then <=, < or ==, then an integer)")
    return Condition(feature, Comparison(match["comparison"]), int(match["limit"]), *sizes)
