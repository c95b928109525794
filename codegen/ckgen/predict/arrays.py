"""All candidates' times of all rows of a set at once: the same formula over arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ckgen.families.gemm.predicted.chip import Chip
from ckgen.families.gemm.predicted.gpu_time import GpuConstants, Sizes, gpu_time
from ckgen.families.gemm.predicted.gpu_work import GpuWork, gpu_work
from ckgen.model.tuned_row import Shape
from ckgen.predict.measured import MeasuredSet

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class Weighed:
    """A set on its chip; `works` are the candidates', in order.

    `lost`: microseconds of a problem's kernels, by name and splits of K, where they are known; a problem without a
    batch has a batch of one.
    """

    found: MeasuredSet
    chip: Chip
    lost: Mapping[Shape, Mapping[tuple[str, int], float]] = field(default_factory=dict)

    @cached_property
    def works(self) -> tuple[GpuWork | None, ...]:
        """None where nothing is known of the types."""
        known: dict[str, GpuWork | None] = {}
        for instance, _ in self.found.candidates:
            if instance.name not in known:
                known[instance.name] = gpu_work(instance.signature, instance.config, self.chip)
        return tuple(known[instance.name] for instance, _ in self.found.candidates)

    @cached_property
    def _sizes(self) -> Sizes:
        import numpy as np

        columns = [[getattr(row.shape, name) for row in self.found.rows] for name in ("m", "n", "k", "batch")]
        m, n, k, batch = (np.array(column, dtype=np.int64) for column in columns)
        return Sizes(m, n, k, np.maximum(batch, 1), 1)

    def predicted(self, constants: GpuConstants) -> npt.NDArray[Any]:
        """Microseconds, a row for each row and a column for each candidate; infinite where nothing is known."""
        import numpy as np

        times = np.full((len(self.found.rows), len(self.works)), np.inf)
        for at, (work, (_, k_batch)) in enumerate(zip(self.works, self.found.candidates, strict=True)):
            if work is not None:
                sizes = replace(self._sizes, k_batch=k_batch)
                times[:, at] = gpu_time(work, sizes, self.chip, constants, np.maximum).us
        return times

    def of_candidate(self, column: int, rows: npt.NDArray[Any], constants: GpuConstants) -> npt.NDArray[Any]:
        """Microseconds of one of which something is known, on some of the rows."""
        import numpy as np

        work, every = self.works[column], self._sizes
        assert work is not None
        sizes = Sizes(every.m[rows], every.n[rows], every.k[rows], every.batch[rows], self.found.candidates[column][1])
        us: npt.NDArray[Any] = gpu_time(work, sizes, self.chip, constants, np.maximum).us
        return us

    @cached_property
    def took(self) -> npt.NDArray[Any]:
        """Microseconds that were measured, a row for each row and a column for each candidate; not a number where none
        were."""
        import numpy as np

        if not self.lost:
            return np.full((len(self.found.rows), len(self.found.candidates)), np.nan)
        names = [(instance.name, k_batch) for instance, k_batch in self.found.candidates]
        shapes = [replace(row.shape, batch=max(row.shape.batch, 1)) for row in self.found.rows]
        known = [self.lost.get(shape, {}) for shape in shapes]
        return np.array([[of.get(name, np.nan) for name in names] for of in known])

    @cached_property
    def fastest(self) -> npt.NDArray[Any]:
        """Microseconds of each row's fastest candidate that was measured; infinite where none was."""
        import numpy as np

        return np.asarray(np.where(np.isnan(self.took), np.inf, self.took).min(axis=1))

    def ranked(self, constants: GpuConstants) -> npt.NDArray[Any]:
        """Of each candidate the factor that its times are multiplied by before they are ranked."""
        import numpy as np

        return np.array([constants.rank_factor(one.config, k_batch) for one, k_batch in self.found.candidates])

    def some(self, rows: npt.NDArray[Any], candidates: npt.NDArray[Any]) -> Some:
        """Pairs of a row and a candidate."""
        import numpy as np

        columns = {
            one.name: np.array([getattr(work, one.name) if work is not None else 1 for work in self.works])[candidates]
            for one in fields(GpuWork)
            if one.name not in ("pipeline", "kernel")
        }
        all_rows = self._sizes
        splits = np.array([k_batch for _, k_batch in self.found.candidates])[candidates]
        words = np.array([work.pipeline if work is not None else "" for work in self.works])[candidates]
        pipelines, of = np.unique(words, return_inverse=True)
        sizes = Sizes(all_rows.m[rows], all_rows.n[rows], all_rows.k[rows], all_rows.batch[rows], splits)
        return Some(GpuWork(**columns), sizes, self.chip, tuple(pipelines.tolist()), of)


@dataclass(frozen=True, slots=True)
class Some:
    """Pairs as arrays. `pipelines` are the main loops that there are, and `of` each pair's among them."""

    work: GpuWork
    sizes: Sizes
    chip: Chip
    pipelines: tuple[str, ...]
    of: npt.NDArray[Any]

    def predicted(self, constants: GpuConstants) -> npt.NDArray[Any]:
        """Microseconds of each pair. Factors of main loops go into the numbers that they are of; kernels' own are left
        out."""
        import numpy as np

        def factors(given: Mapping[str, float]) -> npt.NDArray[Any]:
            return np.asarray(np.array([given.get(word, 1.0) for word in self.pipelines])[self.of])

        work = replace(self.work, matrix=self.work.matrix * factors(constants.pipelines))
        own: dict[str, Any] = {
            "launch": constants.launch * factors(constants.launches),
            "tile": constants.tile * factors(constants.tiles),
            "store": constants.store * factors(constants.stores),
        }
        us: npt.NDArray[Any] = gpu_time(work, self.sizes, self.chip, replace(constants, **own), np.maximum).us
        return us
