"""Scratch as the compiler uses it: arrays and calls, by buffers and FLAT on gfx90a, by SCRATCH on gfx942."""

from __future__ import annotations

import numpy as np
import pytest
from memory_support import area
from numpy.typing import NDArray
from step_support import arguments, emulator

from amd_kernels import compiled
from ckgen_emulator.bindings import Options

pytestmark = pytest.mark.amd

# An array that is indexed, one that a function sees by its address, and loads of which only the run knows from where.
COMPILED = """
#define DEVICE __attribute__((device))
static DEVICE __attribute__((noinline)) int picked(int* some, const int* other, int at) {
  some[at & 7] += 5;
  const int* from = at & 1 ? some : other;
  return from[at & 7];
}
extern "C" __attribute__((global)) void k(const int* in, int* out, int n) {
  int item = __builtin_amdgcn_workgroup_id_x() * 128 + __builtin_amdgcn_workitem_id_x();
  int big[40], some[8];
  for (int i = 0; i < 40; ++i) big[i] = in[i] + item;
  for (int i = 0; i < 8; ++i) some[i] = item * i;
  for (int i = 0; i < n; ++i) big[(in[i] + item) % 40] += i;
  int sum = picked(some, in, item) + picked(some, in, item + 3);
  for (int i = 0; i < 8; ++i) sum += some[i];
  out[item] = sum + big[item % 40] * 7;
}
"""


def expected(data: NDArray[np.int32], item: int, n: int) -> int:
    """What COMPILED computes for one work item."""
    big = [int(value) + item for value in data[:40]]
    some = [item * i for i in range(8)]
    for i in range(n):
        big[(int(data[i]) + item) % 40] += i
    total = 0
    for at in (item, item + 3):
        some[at & 7] += 5
        total += some[at & 7] if at & 1 else int(data[at & 7])
    return total + sum(some) + big[item % 40] * 7


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
@pytest.mark.parametrize("options", [Options(), Options(seed=4), Options(turn=7)])
def test_what_the_compiler_makes_of_arrays_runs(arch: str, options: Options) -> None:
    """Calls with a stack pointer, indexed accesses, and FLAT ones to memory or scratch lane by lane."""
    code = compiled(arch, COMPILED).data
    chip = emulator(arch)
    with area(arch, 4 * 64) as given, area(arch, 4 * 128 * 3, written=False) as made:
        data = given.bytes.view(np.int32)
        data[:] = np.random.default_rng(8).integers(0, 1000, data.size)
        module = chip.load(code)
        args = arguments(given.address, made.address) + np.array([33, 0], np.int32).tobytes()
        result = chip.launch(module, "k", [3, 1, 1], [128, 1, 1], args, options)
        chip.unload(module)
        assert not result.findings
        assert made.bytes.view(np.int32).tolist() == [expected(data, item, 33) for item in range(3 * 128)]
