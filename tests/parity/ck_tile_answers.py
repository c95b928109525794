"""ck_tile's own host code as a library: what it accepts and derives for a set of dense Configs."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amd_support import amd_toolchain
from ckgen import paths
from ckgen.build.flags import Trait, flags_of
from ckgen.emit.environment import environment
from ckgen.families.gemm.device.ck_tile import host_unit
from ckgen.families.gemm.instance import Instance

_UNIT = """\
#include <cstdio>
#include <cstring>

#include "backends/ck_tile/gemm_host.hpp"
{configs}
namespace {{
using namespace ckgen;

template <class C>
void accepted(Arch arch, long count, const long long (*problems)[4], unsigned char* out) {{
  const tile::PlanFor plan{{arch}};
  for (long i = 0; i < count; ++i) {{
    const auto [m, n, k, k_batch] = problems[i];
    const auto at = [](long long size) {{ return static_cast<ck_tile::index_t>(size); }};
    const auto a = a_is_row_major(C::layout) ? k : m;
    const auto b = b_is_row_major(C::layout) ? n : k;
    out[i] = tile::AnyKernel<C>::IsSupportedArgument(tile::AnyKernel<C>::MakeKernelArgs(ck_tile::GemmHostArgs(
        nullptr, nullptr, nullptr, at(k_batch), at(m), at(n), at(k), at(a), at(b), at(n))));
  }}
}}

template <class C>
void derived(int wave32, int* out) {{
  using G = tile::Gemm<C>;
  using P = typename G::template Pipeline<true, tile::Tail::Full>;
  out[0] = wave32 ? P::template GetVectorSizeA<true>() : P::template GetVectorSizeA<false>();
  out[1] = wave32 ? P::template GetVectorSizeB<true>() : P::template GetVectorSizeB<false>();
  out[2] = G::template Epilogue<false>::GetVectorSizeC();
  out[3] = G::Loops::PrefetchStages;
}}

/// The tails that ck_tile's own TailHandler knows, by name; loops[t] of t + 1 tiles as hot * 100 + tail.
template <class C>
void loops(int count, int* own, int* ours) {{
  using G = tile::Gemm<C>;
  for (int t = 0; t < count; ++t) {{
    own[t] = (G::Loops::BlockHasHotloop(t + 1) ? 100 : 0) + static_cast<int>(G::Loops::GetBlockLoopTailNum(t + 1));
    ours[t] = (G::loop_of(t + 1).hot ? 100 : 0) + static_cast<int>(G::loop_of(t + 1).tail);
  }}
}}
template <class C>
int prepared(Arch arch, int cu_num, const long long (&problem)[4], KernelCall& out) {{
  static constexpr tile::BuiltVariant built[] = {{
      {{"hot_full_set", true, tile::Tail::Full, false, tile::on(Arch::gfx942, Arch::gfx950)}},
      {{"hot_full_add", true, tile::Tail::Full, true, tile::on(Arch::gfx942)}},
      {{"cold_three_set", false, tile::Tail::Three, false, tile::on(Arch::gfx942)}},
      {{"hot_full_set", true, tile::Tail::Full, false, tile::on(Arch::gfx1201)}}}};
  Signature signature{{}};
  signature.c = C::c;
  const Problem about(signature);
  const auto [m, n, k, k_batch] = problem;
  GemmArgs args{{}};
  args.a = reinterpret_cast<const void*>(0x1000);
  args.b = reinterpret_cast<const void*>(0x2000);
  args.c = reinterpret_cast<void*>(0x3000);
  args.m = m, args.n = n, args.k = k, args.batch = 1;
  args.lda = a_is_row_major(C::layout) ? k : m;
  args.ldb = b_is_row_major(C::layout) ? n : k;
  args.ldc = n + 8;
  const Launch launch{{nullptr, &about, static_cast<std::uint32_t>(k_batch), &args, nullptr, nullptr}};
  return static_cast<int>(tile::prepare<C>(built, launch, arch, cu_num, out).code);
}}
}}  // namespace

extern "C" [[gnu::visibility("default")]] int ck_tile_prepared(int kind, int arch, int cu_num,
                                                               const long long (*problem)[4], long long* numbers,
                                                               char* symbol) {{
  KernelCall call;
  int code = -1;
  switch (kind) {{
{prepared}
  }}
  if (code != 0) return code;
  std::snprintf(symbol, 64, "%s", call.symbol);
  tile::index_t sizes[3];  // after three pointers and an empty array, see UniversalGemmKernelArgs
  std::memcpy(sizes, call.args + 32, sizeof sizes);
  const auto wide = [](std::size_t size) {{ return static_cast<long long>(size); }};
  const long long all[] = {{call.grid[0], call.grid[2], call.block[0], call.args_size, wide(call.clear.rows),
                           wide(call.clear.pitch), wide(call.clear.width), sizes[0], sizes[1], sizes[2]}};
  std::memcpy(numbers, all, sizeof all);
  return code;
}}
extern "C" [[gnu::visibility("default")]] void ck_tile_accepted(int kind, int arch, long count,
                                                                const long long (*problems)[4], unsigned char* out) {{
  switch (kind) {{
{accepted}
  }}
}}
extern "C" [[gnu::visibility("default")]] void ck_tile_derived(int kind, int wave32, int* out) {{
  switch (kind) {{
{derived}
  }}
}}
extern "C" [[gnu::visibility("default")]] void ck_tile_loops(int kind, int count, int* own, int* ours) {{
  switch (kind) {{
{loops}
  }}
}}
"""

TAILS = ("Odd", "Even", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Empty", "Full")
"""ck_tile's TailNumber, in order."""


class Prepared(NamedTuple):
    """A launch: the kernel, blocks along x and z, threads, bytes of arguments, what is cleared, and its M, N, K."""

    symbol: str
    grid: int
    splits: int
    block: int
    args_size: int
    clear_rows: int
    clear_pitch: int
    clear_width: int
    m: int
    n: int
    k: int


class CkTileAnswers:
    """`instances` by name; one shared library for all, compiled into `folder` by the AMD toolchain's host half."""

    def __init__(self, instances: Mapping[str, Instance], folder: Path) -> None:
        self._kinds = {name: kind for kind, name in enumerate(instances)}
        self._library = ctypes.CDLL(str(_compiled(instances, folder)))

    def accepts(self, name: str, arch: int, problems: NDArray[np.int64]) -> NDArray[np.bool_]:
        """IsSupportedArgument of rows (M, N, K, k_batch) with dense strides; `arch` is a value of ckgen::Arch."""
        rows = np.ascontiguousarray(problems, dtype=np.int64)
        out = np.zeros(len(rows), dtype=np.uint8)
        self._library.ck_tile_accepted(
            self._kinds[name], arch, ctypes.c_long(len(rows)), ctypes.c_void_p(rows.ctypes.data),
            ctypes.c_void_p(out.ctypes.data),
        )  # fmt: skip
        return out.astype(bool)

    def prepare(self, name: str, arch: int, cu_num: int, problem: tuple[int, ...]) -> Prepared | int:
        """The launch that prepare() fills in for four kernels, see the unit; else its status code."""
        numbers, symbol = (ctypes.c_longlong * 10)(), ctypes.create_string_buffer(64)
        sizes = (ctypes.c_longlong * 4)(*problem)
        code = int(self._library.ck_tile_prepared(self._kinds[name], arch, cu_num, sizes, numbers, symbol))
        return code if code else Prepared(symbol.value.decode(), *numbers)

    def derived(self, name: str, wave_size: int) -> tuple[int, int, int, int]:
        """Elements per access of A, B and C, and stages."""
        out = (ctypes.c_int * 4)()
        self._library.ck_tile_derived(self._kinds[name], int(wave_size == 32), out)
        return (out[0], out[1], out[2], out[3])

    def loops(self, name: str, count: int) -> tuple[list[tuple[bool, str]], list[tuple[bool, str]]]:
        """Main loop and tail of 1 to `count` K tiles: as ck_tile itself says, and as the bridging header does."""
        own, ours = (ctypes.c_int * count)(), (ctypes.c_int * count)()
        self._library.ck_tile_loops(self._kinds[name], count, own, ours)
        return [_case(value) for value in own], [_case(value) for value in ours]


def _case(value: int) -> tuple[bool, str]:
    return value >= 100, TAILS[value % 100]


def linked(text: str, folder: Path, name: str, *, library: bool) -> Path:
    """A unit of the host half, compiled and linked without HIP: a shared library, or a program."""
    toolchain = amd_toolchain()
    flags = flags_of("amd", toolchain.kind.value, "ck_tile", "", Trait.HOST)
    own = [f"-I{paths.dispatcher_dir() / include}" for include in flags.includes]
    unit, made, out = folder / f"{name}.cpp", folder / f"{name}.o", folder / name
    unit.write_text(text, encoding="utf-8")
    # an empty unit that includes <iostream> brings the streams up, as any C++ program would
    linking = ["g++", *(["-shared"] if library else []), "-o", str(out), str(made)]
    linking += [] if library else ["-xc++", "-include", "iostream", "/dev/null"]
    for command in ([*toolchain.host(), *own, *flags.words, "-c", "-o", str(made), str(unit)], linking):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-6000:]
    return out


def _compiled(instances: Mapping[str, Instance], folder: Path) -> Path:
    template = environment().get_template("device/ck_tile_gemm_config.hpp.j2")
    configs = "".join(
        f"namespace kind_{kind} {{\n{template.render(**host_unit(instance, {}).values)}}}\n"
        for kind, instance in enumerate(instances.values())
    )

    def cases(call: str) -> str:
        return "\n".join(
            f"    case {kind}: return {call.replace('<C>', f'<kind_{kind}::Config>')};"
            for kind in range(len(instances))
        )

    text = _UNIT.format(
        configs=configs,
        accepted=cases("accepted<C>(static_cast<Arch>(arch), count, problems, out)"),
        derived=cases("derived<C>(wave32, out)"),
        loops=cases("loops<C>(count, own, ours)"),
        prepared="\n".join(
            f"    case {kind}: code = prepared<kind_{kind}::Config>(static_cast<Arch>(arch), cu_num, *problem, call);"
            " break;"
            for kind in range(len(instances))
        ),
    )
    return linked(text, folder, "answers", library=True)
