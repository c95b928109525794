"""`ckgen bench`: how fast each kernel of a library is, every one verified, against each other and against peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.bench_problems import family_asked, problems_asked
from ckgen.cli.errors import Command
from ckgen.cli.option_values import kernel_sets_of, one_target, tuning_or_shipped
from ckgen.cli.options import (
    GRAPH,
    PATH,
    ROTATING,
    build_only_option,
    json_option,
    kernel_set_option,
    kernels_option,
    quiet_option,
    timing_scheduler_option,
    tuning_option,
    work_option,
)
from ckgen.cli.output import columns, plural, progress, say, show, show_json
from ckgen.model.errors import UsageError
from ckgen.progress import Pace, PartDone, Standing

if TYPE_CHECKING:
    from ckgen.fuzz.case import Case
    from ckgen.measure.bench import Asked, Bench
    from ckgen.measure.local import LocalMeasurer
    from ckgen.model.target import Target
    from ckgen.progress import Progress

FINDINGS = 1
_FINE = ("ok", "refused")
_SHAPE = "Sizes as `ckgen lookup` takes them: of --shape, of --groups, or KEY=VALUE in quotes; may be repeated."
_TOL = "The largest error over the largest value; each element's own bound where left out."
_TWINS = "Time host twins of a GPU's kernels, which says nothing of the GPU."
_PEER = "Also what another library has for the same: numpy, torch, cublaslt; may be repeated."
_WARMUP = "Calls ahead of the timed ones, fewer where times hold still."
_REPEAT = "Rounds, fewer where medians hold still or time is over."
_TIMEOUT = "Seconds of work after which a kernel is taken to hang."
_SECONDS = "How long the rounds of a problem go on at most."


def _variable(name: str) -> dict[str, Any]:
    return {"envvar": f"CK_TILE_BENCH_{name}", "show_envvar": True}


@click.command(cls=Command, name="bench", short_help="Time the kernels that can run a problem, every one verified.")
@click.argument("op")
@click.option("--target", required=True, metavar="T", help="The device, such as native or x86_64_v4.")
@click.option("--signature", metavar="S", help="Of --shape; of --shapes only its rows.")
@click.option("--shape", multiple=True, metavar="SIZES", help=_SHAPE)
@click.option("--shapes", type=PATH, metavar="CSV", help="A list of shapes, as `ckgen shapes` writes it.")
@click.option("--experts", type=click.IntRange(1), metavar="N", help="Experts of MoE problems of --shape.")
@click.option("--top-k", type=click.IntRange(1), metavar="N", help="Experts that each token of them goes to.")
@kernels_option
@kernel_set_option
@tuning_option
@timing_scheduler_option
@click.option("--peer", "peers", multiple=True, metavar="NAME", help=_PEER)
@click.option(
    "--warmup", type=click.IntRange(2), default=50, show_default=True, metavar="N", help=_WARMUP, **_variable("WARMUP")
)
@click.option(
    "--repeat", type=click.IntRange(1), default=100, show_default=True, metavar="N", help=_REPEAT, **_variable("REPEAT")
)
@click.option("--flush", is_flag=True, help="Empty the caches ahead of each call.", **_variable("FLUSH"))
@click.option(
    "--rotating", type=click.IntRange(0), default=0, show_default=True, metavar="N", help=ROTATING,
    **_variable("ROTATING"),
)  # fmt: skip
@click.option("--graph", is_flag=True, help=GRAPH)
@click.option("--seconds", type=click.FloatRange(0), default=2.5, show_default=True, metavar="N", help=_SECONDS)
@click.option("--timeout", type=click.FloatRange(0.01), default=30.0, show_default=True, metavar="N", help=_TIMEOUT)
@click.option("--verify-tol", type=click.FloatRange(0), metavar="X", help=_TOL)
@click.option("--selected", "only_selected", is_flag=True, help="Only what `select` takes.")
@click.option("--twins", is_flag=True, help=_TWINS)
@build_only_option
@work_option
@click.option("--out", type=PATH, metavar="JSONL", help="Append a line of JSON for each row.")
@click.option("--csv", "csv_file", type=PATH, metavar="CSV", help="Write all rows as CSV.")
@json_option
@quiet_option
def command(**params: Any) -> int:
    """Time the kernels that can run a problem, every one verified.

    A library of the signatures asked is generated and built in the cache. Each kernel runs in a worker process, is
    compared with the definition, and timed in turns with the others. What crashes, hangs or is wrong is a row with its
    reason, and the others are measured all the same; exit 1 says that there was one.
    """
    from ckgen.specs.archs import load_archs

    archs = load_archs()
    family = family_asked(params["op"])
    target = one_target(params["target"], archs)
    problems = problems_asked(family, target, archs, params)
    bench, every = _bench(params, target, family.planned_with, problems), _asked(params, problems)
    library = digest = None
    if params["scheduler"] is not None:
        rows, lost = _by_workers(params, target, bench, every)
    else:
        library, digest, rows = _here(params, bench, every)
        lost = 0
    if params["csv_file"] is not None:
        _write(params["csv_file"], rows)
    if params["as_json"]:
        show_json({"library": library, "digest": digest, "rows": rows})
    elif params["build_only"]:
        show(f"{library}  {digest}")
    elif rows:
        show(_text(rows))
    return FINDINGS if lost or any(_is_finding(row) for row in rows) else 0


def _bench(params: Mapping[str, Any], target: Target, ops: frozenset[str], problems: Sequence[Case]) -> Bench:
    from ckgen.measure.bench import Bench
    from ckgen.measure.conditions import Conditions, Limits
    from ckgen.measure.library import Contents
    from ckgen.measure.peers import check_peers

    check_peers(params["peers"])
    signatures = sorted({problem.signature for problem in problems})
    tuning = tuning_or_shipped(params["tuning"]) if params["tuning"] else ()
    tables, added = (
        tuple(path.absolute() for path in paths) for paths in (tuning, kernel_sets_of(params["kernel_sets"], ops))
    )
    return Bench(
        Contents(target, tuple(sorted(ops)), tuple(signatures), tables, added),
        Conditions(params["warmup"], params["rotating"], params["flush"], params["verify_tol"], params["graph"]),
        Limits(seconds=params["timeout"]),
        params["twins"],
        params["work"],
    )


def _asked(params: Mapping[str, Any], problems: Sequence[Case]) -> list[Asked]:
    from ckgen.measure.bench import Asked
    from ckgen.measure.model import Effort

    effort = Effort(seconds=params["seconds"], least=min(5, params["repeat"]), most=params["repeat"])
    kernels, peers = tuple(params["kernels"]), tuple(params["peers"])
    return [Asked(problem, kernels, peers, effort, params["only_selected"]) for problem in problems]


def _here(params: Mapping[str, Any], bench: Bench, every: Sequence[Asked]) -> tuple[str, str, list[dict[str, Any]]]:
    """The library, its digest, and rows unless it was only to be built."""
    from ckgen.measure.library import digest_of

    with progress("planning") as line:
        if params["build_only"]:
            library = bench.build(line.step)
            return str(library), digest_of(library), []
        with bench.open(line.step) as measurer:
            return str(measurer.library), measurer.digest, _rows(params, measurer, every, line)


def _rows(
    params: Mapping[str, Any], measurer: LocalMeasurer, every: Sequence[Asked], line: Progress
) -> list[dict[str, Any]]:
    from ckgen.measure.bench import rows_of

    found: list[dict[str, Any]] = []
    for number, asked in enumerate(every, 1):
        what, pace = f"problem {number} of {len(every)}", Pace()
        line.step(PartDone(f"{what}: verifying", (number - 1) / len(every)))

        def heard(known: int, wanted: int, what: str = what, before: int = number - 1, pace: Pace = pace) -> None:
            """Of a problem's part of the bar verifying is half."""
            told = pace.part(f"{what}, verified: ", Standing(wanted, known))
            done = (before + told.fraction / 2) / len(every)
            if known < wanted:
                line.show(PartDone(told, done))
            else:
                line.step(PartDone(f"{what}: timing {plural(wanted, 'candidate')} in turns", done))

        found += _kept(params, rows_of(measurer, asked, heard))
    return found


def _by_workers(
    params: Mapping[str, Any], target: Target, bench: Bench, every: Sequence[Asked]
) -> tuple[list[dict[str, Any]], int]:
    """Rows in the order of problems, and how many problems are lost."""
    from ckgen.cluster import Lost
    from ckgen.measure.bench import rows_on_worker
    from ckgen.measure.remote import timed_on

    if params["build_only"]:
        raise UsageError("--build-only: with --scheduler each worker builds its own library")
    found: dict[Asked, list[dict[str, Any]]] = {}
    tasks = [(bench, asked) for asked in every]
    with progress("waiting for workers") as line:
        heard = line.counting("problems")
        for (_, asked), rows in timed_on(tasks, rows_on_worker, params["scheduler"], target, heard):
            if isinstance(rows, Lost):
                say(f"{asked.problem.text()}: every worker that had it died")
            else:
                found[asked] = _kept(params, rows)
    return [row for asked in every for row in found.get(asked, ())], len(set(every)) - len(found)


def _kept(params: Mapping[str, Any], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from ckgen.measure.rows import append_lines

    if params["out"] is not None:
        append_lines(params["out"], rows)
    return rows


def _is_finding(row: Mapping[str, Any]) -> bool:
    """A candidate that is wrong or failed, or a problem that has none."""
    return row["kind"] == "candidate" and (row["status"] not in _FINE or not row["name"])


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    from ckgen.measure.rows import write_csv

    if not rows:
        raise UsageError("--csv: there are no rows")
    write_csv(path, rows)


_HEADER = ("", "us", "spread", "runs", "verified", "max rel", "frob rel", "GF/s", "GB/s", "k_batch", "kernel")


def _text(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table for each problem; * marks what `select` takes."""
    parts = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        own = [row for row in rows if row["problem"] == problem]
        hot = f"{own[0]['bytes']:,} bytes, {plural(own[0]['sets'], 'set')} of operands in turn"
        parts.append(f"{problem}\n{hot}\n{columns([_HEADER, *map(_cells, own)])}\n")
    first = rows[0]
    load = f"load {first['load']:g} to {rows[-1]['load']:g}"
    parts.append(f"{first['device']}, {plural(first['threads'], 'thread')}, {load}; * is what select takes")
    return "\n".join(parts)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    mark = "*" if row["selected"] else ""
    name, k_batch = row["name"] or "-", "-" if row["k_batch"] is None else str(row["k_batch"])
    if row["median_us"] is None:
        return (mark, row["status"].upper(), *["-"] * 7, k_batch, f"{name}: {row['reason']}")
    figures = [f"{row[key]:.2g}" if row[key] is not None else "-" for key in ("max_rel", "frob_rel")]
    rates = [f"{row[key]:,.1f}" if row[key] is not None else "-" for key in ("gflops", "gb_s")]
    checked = "yes" if row["checked"] is None else f"{row['checked']:,}"
    times = (f"{row['median_us']:,.1f}", f"{row['spread']:.1%}", str(row["runs"]))
    return (mark, *times, checked, *figures, *rates, k_batch, name)
