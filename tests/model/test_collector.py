"""The cycle collector: paused inside, afterwards as it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from ckgen.model import collector
from ckgen.model.collector import collector_paused, keep_what_is_made


@pytest.fixture(autouse=True)
def collector_stays_as_it_was() -> Iterator[None]:
    enabled = gc.isenabled()
    yield
    (gc.enable if enabled else gc.disable)()


@pytest.mark.parametrize("keeps", [True, False])
def test_only_a_command_looks_never_again_at_what_it_made(keeps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "_keeps", False)
    if keeps:
        keep_what_is_made()
    gc.enable()
    before = gc.get_freeze_count()
    with collector_paused():
        made = [[number] for number in range(1000)]
    assert len(made) == 1000
    assert (gc.get_freeze_count() >= before + 1000) is keeps


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_off_inside_and_then_as_it_was(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() is enabled


def test_an_error_inside_leaves_it_as_it_was() -> None:
    gc.enable()
    with pytest.raises(ValueError, match="inside"), collector_paused():
        raise ValueError("inside")
    assert gc.isenabled()
