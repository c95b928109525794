"""Measured winners that the model is fitted to and judged by, with every kernel that could have run instead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any

from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.problem_rules import supports
from ckgen.families.gemm.signature import GemmSignature, module_of
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import GenerationPlan

if TYPE_CHECKING:
    import numpy.typing as npt

_ENOUGH = 16
"""Rows of a layer that tell which libraries were tried on it."""


@dataclass(frozen=True, slots=True)
class Won:
    """A row of a table: `winner` is the position of its instance and splits among the candidates of its set."""

    shape: Shape
    winner: int
    us: float
    file: str

    @property
    def layer(self) -> tuple[int, int, int]:
        """Batch, N and K: what M is drawn for."""
        return self.shape.batch, self.shape.n, self.shape.k


@dataclass(frozen=True, slots=True)
class MeasuredSet:
    """Rows of one signature on one target. `candidates`: its instances, each with all splits that some row has.

    `defaults` are those that step default of selection has, unsplit, in its order.
    """

    target: Target
    module: str
    signature: GemmSignature
    candidates: tuple[tuple[Instance, int], ...]
    rows: tuple[Won, ...]
    defaults: tuple[int, ...]

    @property
    def kind(self) -> tuple[str, str, str]:
        """What shares constants: arch, module and the type of A."""
        return self.target.gfx, self.module, str(self.signature.a)

    def supported(self) -> npt.NDArray[Any]:
        """Of each row and candidate, whether it can run; the winner always did."""
        import numpy as np

        shapes, of_shape = _places([row.shape for row in self.rows], lambda shape: shape)
        layers, of_layer = _places([row.shape for row in self.rows], lambda shape: (shape.batch, shape.n, shape.k))
        found = np.empty((len(self.rows), len(self.candidates)), dtype=bool)
        for at, (instance, k_batch) in enumerate(self.candidates):
            asked = instance.constraints
            of_m = asked.m_multiple or asked.max_m or asked.min_m or asked.max_ab or asked.max_c
            some, of = (shapes, of_shape) if of_m else (layers, of_layer)  # many demands say nothing of M
            found[:, at] = np.array([supports(asked, shape, k_batch) is None for shape in some], dtype=bool)[of]
        found[np.arange(len(self.rows)), [row.winner for row in self.rows]] = True
        return found

    def tried(self) -> npt.NDArray[Any]:
        """Of each row and candidate, whether the row's table seems to have tried it.

        A table says winners alone. Splits count as tried where a row of the file has so many, a library where it won a
        row of the file and the layer; in a layer of few rows, one of the file.
        """
        import numpy as np

        libraries: dict[Any, set[str]] = defaultdict(set)
        splits: dict[str, set[int]] = defaultdict(set)
        counts: dict[Any, int] = defaultdict(int)
        for row in self.rows:
            instance, k_batch = self.candidates[row.winner]
            splits[row.file].add(k_batch)
            for key in (row.file, (row.file, row.layer)):
                libraries[key].add(str(instance.backend))
                counts[key] += 1
        known: dict[Any, list[bool]] = {}
        for row in self.rows:
            key = (row.file, row.layer)
            if key not in known:
                won = libraries[key if counts[key] >= _ENOUGH else row.file]
                known[key] = [str(one.backend) in won and k in splits[row.file] for one, k in self.candidates]
        return np.array([known[row.file, row.layer] for row in self.rows])


def _places(shapes: Sequence[Shape], key: Callable[[Shape], Hashable]) -> tuple[Sequence[Shape], npt.NDArray[Any]]:
    """The first shape of each key, and of every shape where that is."""
    import numpy as np

    firsts: dict[Hashable, tuple[int, Shape]] = {}
    places = [firsts.setdefault(key(shape), (len(firsts), shape))[0] for shape in shapes]
    return [shape for _, shape in firsts.values()], np.array(places, dtype=np.int64)


def measured_sets(plan: GenerationPlan) -> tuple[MeasuredSet, ...]:
    """Every timed row of plain GEMMs that the plan selects, once: of signatures that share a row the first by name."""
    taken: set[int] = set()
    found = [_set(unit, table, taken) for unit in plan.units_of(GemmSignature) for table in unit.tables
             if unit.signature.op is Op.GEMM]  # fmt: skip
    return tuple(one for one in found if one.rows)


def with_timed_problems(one: MeasuredSet, known: Mapping[Shape, Mapping[tuple[str, int], float]]) -> MeasuredSet:
    """The set with rows of other sizes of M too, where all kernels' times are known: of the layers that it has.

    Shapes without a batch have a batch of one in `known`.
    """
    places = {(instance.name, k_batch): at for at, (instance, k_batch) in enumerate(one.candidates)}
    have = {replace(row.shape, batch=max(row.shape.batch, 1)) for row in one.rows}
    of_layers = {(max(batch, 1), n, k): row for row in one.rows for batch, n, k in [row.layer]}
    more = []
    for shape, times in sorted(known.items(), key=lambda item: astuple(item[0])):
        row = of_layers.get((shape.batch, shape.n, shape.k))
        own = [(us, places[name]) for name, us in times.items() if name in places]
        if row is not None and shape not in have and own:
            us, winner = min(own)
            more.append(Won(replace(shape, batch=row.shape.batch), winner, us, row.file))
    return replace(one, rows=(*one.rows, *more))


def _set(unit: Any, table: Any, taken: set[int]) -> MeasuredSet:
    timed = [(shape, choice, row) for shape, choice, row in _timed(table) if id(row) not in taken]
    taken.update(id(row) for _, _, row in timed)
    splits = sorted({max(choice.k_batch, 1) for _, choice, _ in timed})
    indices = [at for at, one in enumerate(unit.instances) if table.target.gfx in one.archs]
    places = {pair: at for at, pair in enumerate((index, k_batch) for index in indices for k_batch in splits)}
    rows = [Won(shape, places[choice.instance, max(choice.k_batch, 1)], row.us, row.location.file)
            for shape, choice, row in timed]  # fmt: skip
    candidates = tuple((unit.instances[index], k_batch) for index, k_batch in places)
    module = unit.module or module_of(unit.signature) or ""
    defaults = (
        tuple(
            places[index, splits[0]] for index in unit.default_indices(table.target.gfx) if (index, splits[0]) in places
        )
        if splits[:1] == [1]
        else ()
    )
    return MeasuredSet(table.target, module, unit.signature, candidates, tuple(rows), defaults)


def _timed(table: Any) -> Iterator[tuple[Shape, Any, Any]]:
    for (n, k, batch), group in table.groups.items():
        for m, at in group.runnable.sizes():
            row = group.rows[m]
            if row.us is not None and row.us > 0:
                yield Shape(batch, m, n, k), table.choices[at], row


def layers_in_folds(rows: Sequence[Won], folds: int) -> Iterator[frozenset[tuple[int, int]]]:
    """(N, K) in so many folds, as even in rows as the largest first, each to the emptiest, makes them."""
    counts: dict[tuple[int, int], int] = defaultdict(int)
    for row in rows:
        counts[row.shape.n, row.shape.k] += 1
    filled: list[tuple[int, list[tuple[int, int]]]] = [(0, []) for _ in range(min(folds, len(counts)))]
    for layer in sorted(counts, key=lambda one: (-counts[one], one)):
        index = min(range(len(filled)), key=lambda i: (filled[i][0], i))
        filled[index] = filled[index][0] + counts[layer], [*filled[index][1], layer]
    return (frozenset(layers) for _, layers in filled)


def files_of(rows: Iterable[Won]) -> Iterator[frozenset[tuple[int, int]]]:
    """The (N, K) of each file: a model's, where a file is one."""
    layers: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for row in rows:
        layers[row.file].add((row.shape.n, row.shape.k))
    return (frozenset(layers[file]) for file in sorted(layers))
