"""`ckgen build`: GPU kernels compiled with the real headers, judged, and kept as assembly, objects or a library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.errors import Command
from ckgen.cli.option_values import (
    assumed_dtype,
    assumptions,
    backends_of,
    check_name,
    kernel_sets_of,
    ops_of,
    profiles_of,
    targets_or_env,
    tuning_or_shipped,
)
from ckgen.cli.options import (
    GLOB,
    PATH,
    assume_option,
    backends_option,
    jobs_option,
    json_option,
    kernel_set_option,
    module_option,
    ops_option,
    profile_option,
    quiet_option,
    scheduler_option,
    signatures_option,
    targets_option,
    tuning_option,
)
from ckgen.cli.output import columns, plural, progress, say, show, show_json
from ckgen.model.errors import UsageError
from ckgen.plan.options import PlanOptions

if TYPE_CHECKING:
    from ckgen.build.result import Result

FINDINGS = 1


@click.command(cls=Command, name="build", short_help="Compile GPU kernels, and judge what is in them.")
@targets_option
@backends_option("Only kernels of these backends: ck, ck_tile.")
@ops_option
@click.option(
    "--kernels", type=GLOB, multiple=True, metavar="GLOB", help="Only kernels whose name fits, search spaces included."
)
@signatures_option
@click.option("--as-generated", is_flag=True, help="Only the instances that `ckgen generate` writes for these options.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N kernels by name.")
@tuning_option
@module_option
@assume_option
@kernel_set_option
@profile_option
@click.option(
    "--emit",
    type=click.Choice(["asm", "object", "library"]),
    default="object",
    show_default=True,
    help="What to leave in --out.",
)
@click.option("--name", default="ckgen_device", show_default=True, help="The library, and its C++ namespace.")
@click.option("--out", type=PATH, default="ckgen_build", show_default=True, help="The folder to write.")
@jobs_option
@scheduler_option
@click.option("--retry", is_flag=True, help="Compile again what failed before.")
@click.option("--compiler-launcher", metavar="COMMAND", help="Put before every compile, such as ccache.")
@click.option("--prefix", type=PATH, help="The toolchain's folder.  [default: as `ckgen toolchain`]")
@quiet_option
@json_option
def command(**params: Any) -> int:
    """Compile GPU kernels, and judge what is in them.

    The compiler is that of `ckgen toolchain amd` or `nvidia`, as the targets are, the headers are CK's and CUTLASS's
    own. Kernels are those of the tables, the
    defaults and --kernel-set; --kernels also looks into the search spaces. With --kernels or --limit each is built for
    every target where it is legal. Exit 1 if one fails to compile or to pass.
    """
    from ckgen.build.artefacts import Emit
    from ckgen.build.build import BuildRequest, build
    from ckgen.build.cache import Cache, default_cache
    from ckgen.build.device_code import BACKENDS
    from ckgen.build.launcher import NO_LAUNCHER, launcher_for
    from ckgen.build.of_vendor import toolchain_of, vendor_of
    from ckgen.build.pool import default_limits
    from ckgen.build.wanted import KernelFilter, wanted_kernels
    from ckgen.progress import Progress
    from ckgen.specs.archs import load_archs

    archs = load_archs()
    targets = targets_or_env(params["targets"], archs)
    vendor = vendor_of(targets or (), archs)
    buildable = frozenset(str(backend) for backend in BACKENDS if backend.vendor == str(vendor))
    backends = backends_of(params["backends"]) or buildable
    if not backends & buildable:
        raise UsageError(f"--backend: only {', '.join(sorted(buildable))} are built here")
    check_name(params["name"])
    toolchain = toolchain_of(vendor, params["prefix"])
    globs = tuple(params["kernels"])
    options = PlanOptions(
        targets=targets,
        ops=ops_of(params["ops"]),
        tuning=tuning_or_shipped(params["tuning"]),
        module=params["module"],
        kernel_sets=kernel_sets_of(params["kernel_sets"], ops_of(params["ops"])),
        profiles=profiles_of(params["profiles"]),
        kernels=globs if params["as_generated"] else (),
        signatures=tuple(params["signatures"]),
        backends=backends,
        assume_gfx=assumptions(params["assume_gfx"], archs),
        assume_dtype=assumed_dtype(params["assume_dtype"]),
        every_count=not params["as_generated"],
    )
    cache = Cache(default_cache())
    launched, wish = toolchain.launched, params["compiler_launcher"]
    launcher = launcher_for(launched, cache.folder, wish) if launched else NO_LAUNCHER
    with progress("reading tables"):
        kernel_filter = KernelFilter(() if params["as_generated"] else globs, params["limit"])
        wanted = wanted_kernels(options, kernel_filter, archs, cache.folder)
    line = Progress()
    line.step("preparing to compile")

    def say_failure(text: str) -> None:
        line.clear()
        say(text)

    request = BuildRequest(Emit(params["emit"]), params["out"], params["name"])
    try:
        results = build(
            request,
            wanted,
            toolchain,
            archs,
            cache,
            default_limits(params["jobs"], launcher, retry=params["retry"], scheduler=params["scheduler"] or ""),
            say_failure,
            line,
        )
    finally:
        line.clear()
    if params["as_json"]:
        show_json([result.entry() for result in results])
    else:
        show(_text(results))
    failed = [result for result in results if result.errors]
    if failed:
        say(f"{plural(len(failed), 'kernel')} of {len(results)} failed")
    return FINDINGS if failed else 0


def _text(results: tuple[Result, ...]) -> str:
    rows: list[tuple[str, ...]] = [
        ("kernel", "arch", "state", "CPU s", "MB", "matrix", "VGPR", "spills", "scratch", "LDS", "code")
    ]
    for result in results:
        figures = result.figures
        state = "passed" if result.passed else "refused" if figures is not None else result.status.value
        cells: tuple[str, ...] = ("–",) * 6
        if figures is not None:
            numbers = (figures.vgpr, figures.spills, figures.scratch, figures.lds, figures.code_bytes)
            cells = (str(sum(figures.matrix_ops.values())), *map(str, numbers))
        cost = (
            (f"{result.cpu_seconds:.1f}", f"{result.peak_mb:.0f}")
            if result.peak_mb is not None and result.cpu_seconds is not None
            else ("–", "–")
        )
        rows.append((result.kernel, result.arch, state, *cost, *cells))
    return columns(rows)
