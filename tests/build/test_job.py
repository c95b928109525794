"""A job's key: alike on all machines, unlike for anything that decides the outputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.build.job import Job, Root, portable


def job_in(folder: Path) -> Job:
    return Job(
        label="unit",
        family="device/fake",
        text="text",
        source="unit.hip",
        steps=((f"{folder}/cc", f"-I{folder}/include", "-c", "unit.hip"),),
        outputs=("unit.o",),
        depfile="unit.d",
        identity=("compiler", "tree"),
        roots=(Root("tools", folder),),
    )


def test_the_key_does_not_depend_on_where_things_lie() -> None:
    assert job_in(Path("/a")).key == job_in(Path("/somewhere/else")).key


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "other"},
        {"steps": (("cc", "-O1"),)},
        {"steps": (("/a/cc", "-I/a/include", "-c"), ("unit.hip",))},
        {"outputs": ("unit.o", "unit.s")},
        {"identity": ("compiler", "other tree")},
        {"identity": ("compilertree", "")},
        {"source": "unit.cpp"},
        {"beside": (("unit.txt", "a list"),)},
    ],
)
def test_the_key_depends_on_all_that_decides_the_outputs(changes: dict[str, object]) -> None:
    job = job_in(Path("/a"))
    assert replace(job, **changes).key != job.key  # type: ignore[arg-type]


def test_the_key_does_not_depend_on_what_people_read() -> None:
    job = job_in(Path("/a"))
    assert replace(job, label="other", family="host/fake").key == job.key


def test_the_longest_root_names_a_path() -> None:
    roots = (Root("outer", Path("/a")), Root("inner", Path("/a/b")))
    assert portable(("-I/a/b/c", "/a/d", "word"), roots) == ("-I$inner/c", "$outer/d", "word")
