"""What constants are drawn from: their own files' rows, each file's own part left out, else others of their vendor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckgen.cli.predict_input import weighed_sets
from ckgen.families.gemm.predicted.constants import LEAST_ROWS, constants_for, shipped
from ckgen.predict.arrays import Weighed
from ckgen.predict.fit import fit


@pytest.mark.parametrize(("arch", "vendor"), [("gfx1201", "gfx"), ("gfx950", "gfx"), ("sm_90a", "sm_")])
def test_a_kind_that_was_not_fitted_has_the_geometric_mean_of_its_vendor(arch: str, vendor: str) -> None:
    alike = [one.constants.memory for one in shipped() if one.arch.startswith(vendor) and one.rows >= LEAST_ROWS]
    assert 1 < len(alike) < len(shipped())
    chosen = constants_for(arch, "none such", "fp64")
    assert chosen.constants.memory == pytest.approx(np.exp(np.mean(np.log(alike))))
    assert chosen.source.startswith(f"the mean of {len(alike)} other kinds")
    assert ("nothing was measured on" in chosen.source) is (arch == "gfx1201")


def test_a_file_of_a_slower_machine_bends_no_times_where_it_has_a_part_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ((one,),) = weighed_sets({"arch": "gfx942", "module": "a8w8_blockscale_bpreshuffle", "tables": ()})
    slow = max(row.file for row in one.found.rows)
    rows = tuple(replace(row, us=row.us * 1.3) if row.file == slow else row for row in one.found.rows)
    slowed = Weighed(replace(one.found, rows=rows), one.chip)

    def bent() -> float:
        """How unlike the factors are by which predicted times of winners grew."""
        usual, other = fit([one]), fit([slowed])
        assert usual is not None and other is not None
        won = np.arange(len(rows)), [row.winner for row in rows]
        return float(np.std(np.log(one.predicted(other)[won] / one.predicted(usual)[won])))

    apart = bent()
    monkeypatch.setattr("ckgen.predict.fit._told_apart", lambda files: {})
    assert apart < bent() / 4
