"""Jobs on the workers of a cluster end as they do here: kept, counted, told once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.build.cache import Cache
from ckgen.build.job import Root
from ckgen.build.pool import Limits, Outcome, run_jobs
from ckgen.build.remote import _check_place
from ckgen.model.errors import UsageError
from ckgen.progress import Standing
from fake_compiler import FakeCompiler

pytestmark = pytest.mark.filterwarnings("default")
LIMITS = Limits(jobs=2, memory_mb=1 << 20, scheduler="local:2")


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCompiler:
    """With a cache of the workers' own."""
    monkeypatch.setenv("CKGEN_CACHE", str(tmp_path / "theirs"))
    return FakeCompiler(tmp_path / "tools")


def test_what_workers_make_is_kept_here_and_asked_for_once(compiler: FakeCompiler, tmp_path: Path) -> None:
    cache, found, standings = Cache(tmp_path / "ours"), list[Outcome](), list[Standing]()
    texts = ["one", "two", "// do print no such type\n// do exit 3\n", "// do die\n"]
    jobs = [compiler.job(text, label=text[:3]) for text in (*texts, "one")]
    run_jobs(jobs, cache, LIMITS, found.append, standings.append)
    assert sorted(one.job.text for one in found) == sorted(texts)
    by_text = {one.job.text: one for one in found}
    made = by_text["one"].entry
    assert made.ok and made.output("unit.o").read_text() == "made of one"
    assert made.folder.is_relative_to(cache.folder)
    failed, died = by_text[texts[2]], by_text[texts[3]]
    assert (failed.entry.code, failed.entry.log, failed.passing) == (3, "no such type\n", False)
    assert died.passing and not died.entry.ok
    assert standings[-1] == Standing(4, 4, failed=2)
    runs = len(compiler.runs)
    again: list[Outcome] = []
    run_jobs(jobs[:3], cache, LIMITS, again.append, standings.append)
    assert all(one.cached for one in again) and len(compiler.runs) == runs


def test_a_worker_without_the_tools_is_refused(compiler: FakeCompiler, tmp_path: Path) -> None:
    job = compiler.job("text")
    elsewhere = replace(job, roots=(*job.roots, Root("more", tmp_path / "nowhere")))
    with pytest.raises(UsageError, match=r"a worker has no .*nowhere"):
        run_jobs([elsewhere], Cache(tmp_path / "ours"), LIMITS, print, lambda standing: None)


def test_a_worker_with_another_compiler_is_refused(compiler: FakeCompiler, monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain = compiler.toolchain()
    monkeypatch.setattr("ckgen.build.remote.load", lambda prefix: toolchain)
    ids = (toolchain.compiler_id, toolchain.ck.id, toolchain.libstdcxx or "")
    roots = (Root("toolchain", compiler.folder), Root("prefix", compiler.folder))
    job = replace(compiler.job("text"), roots=roots, identity=ids)
    _check_place(job)
    with pytest.raises(UsageError, match="is another than the one here"):
        _check_place(replace(job, identity=("other", *ids[1:])))
