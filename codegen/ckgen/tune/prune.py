"""Which candidates of a problem are worth timing: the predicted best."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.predicted.chip import chip_of
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.instance_dialect import named
from ckgen.measure.model import Candidate
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.predict.calibrate import Calibrated
from ckgen.predict.predicted import model_of
from ckgen.specs.archs import load_arch
from ckgen.tune.problems import Problem, signature_of


@dataclass(frozen=True, slots=True)
class Prune:
    """Keeps `best` candidates of plain GEMMs on `target`; all of a problem or kernel of which nothing is predicted.

    `calibrated` are constants of the device; a signature without any has the usual ones.
    """

    target: Target
    best: int
    calibrated: tuple[Calibrated, ...] = ()

    def kept(self, problem: Problem, candidates: Sequence[Candidate], wanted: Collection[Candidate]) -> list[Candidate]:
        """The predicted best, those that are wanted, and those that have no prediction, in the order given."""
        signature = signature_of(problem.key.signature)
        if not isinstance(signature, GemmSignature) or signature.op is not Op.GEMM:
            return list(candidates)
        own = [
            one for one in self.calibrated if (one.signature, one.target) == (problem.key.signature, str(self.target))
        ]
        chip = chip_of(load_arch(self.target.gfx), self.target, ghz=own[0].mhz / 1e3 if own else None)
        model = model_of(chip, signature, own[0].constants if own else None)
        shape = Shape(problem.key.batch, problem.key.m, problem.key.n, problem.key.k)
        times: dict[Candidate, float] = {}
        for one in candidates:
            kernel = named(one.instance)
            found = model.time(kernel.config, shape, one.k_batch) if kernel is not None else None
            if kernel is not None and found is not None:
                times[one] = found[0] * model.rank_factor(kernel.config, one.k_batch)
        best = set(sorted(times, key=lambda one: (times[one], one))[: self.best])
        return [one for one in candidates if one in best or one in wanted or one not in times]
