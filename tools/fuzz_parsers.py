"""Fuzzes what ckgen parses: `python tools/fuzz_parsers.py TARGET|all [--seconds S]`; without a target, names them all.

A target first replays its corpus. Python ones need the group `fuzz` (`pip install -e .[test,fuzz]`), those of C++,
named cpp_…, CMake and a clang++ with libFuzzer (Debian: `apt-get install clang-19`). Exit 0: nothing was found; 1: a
finding, whose input is kept beneath build/fuzz/TARGET; 2: a tool is missing, or a target does not build.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "codegen")]

from parser_fuzz.targets import TARGETS  # noqa: E402

CPP = (ROOT / "dispatcher_cpp" / "tests" / "fuzz", ROOT / "tests" / "emulator" / "core")
WORK = ROOT / "build" / "fuzz"
SECONDS = 180
_SECONDS_OF_ONE, _MEGABYTES, _LONGEST = 10, 2048, 65536
_SANITIZERS = "address,undefined"
_PROBE = """
extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) {
  return __builtin_cpu_supports("f16c") & 0;
}
"""


def main() -> int:
    """As the module says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="?", help="one of those listed without it, or all")
    parser.add_argument("--seconds", type=int, default=SECONDS, metavar="S", help="for each target")
    asked = parser.parse_args()
    known = [*TARGETS, *cpp_targets()]
    if asked.target is None:
        print("\n".join(known))
        return 0
    if asked.target not in (*known, "all"):
        parser.error(f"no target {asked.target!r}: {', '.join(known)}, all")
    chosen = known if asked.target == "all" else [asked.target]
    absent = missing(chosen)
    if absent:
        print(absent, file=sys.stderr)
        return 2
    found = [name for name in chosen if not is_clean(name, asked.seconds)]
    print(
        f"{len(chosen) - len(found)} of {len(chosen)} targets are clean" + "".join(f"\n  found: {one}" for one in found)
    )
    return 1 if found else 0


def cpp_targets() -> dict[str, Path]:
    """Those in C++, by name, and their folders: a file fuzz_<name>.cpp each."""
    files = [file for folder in CPP for file in folder.glob("fuzz_*.cpp")]
    return {f"cpp_{file.stem.removeprefix('fuzz_')}": file.parent for file in sorted(files, key=lambda one: one.name)}


def missing(chosen: list[str]) -> str:
    """What to install; empty if all is there."""
    if any(name in TARGETS for name in chosen) and importlib.util.find_spec("atheris") is None:
        return "atheris is not installed: pip install -e '.[test,fuzz]'"
    if any(name not in TARGETS for name in chosen) and not clang():
        return "no clang++ with libFuzzer that knows f16c: apt-get install clang-19, or name one in CLANGXX"
    return ""


@cache
def clang() -> str | None:
    """The first compiler that can build what the library has and links libFuzzer."""
    named = os.environ.get("CLANGXX")
    known = [named] if named else ["clang++", *(f"clang++-{version}" for version in range(30, 14, -1))]
    return next((path for one in known if (path := shutil.which(one)) and _links(path)), None)


def _links(compiler: str) -> bool:
    done = subprocess.run(
        [compiler, "-x", "c++", "-", "-fsanitize=fuzzer", "-o", os.devnull],
        input=_PROBE, text=True, capture_output=True, check=False,
    )  # fmt: skip
    return done.returncode == 0


def is_clean(name: str, seconds: int) -> bool:
    """Replays the corpus, fuzzes, and tells what libFuzzer says of executions and coverage."""
    work = WORK / name
    grown, seeds = work / "corpus", work / "seeds"
    grown.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(seeds, ignore_errors=True)
    seeds.mkdir()
    command = python_command(name, work) if name in TARGETS else [str(built(name))]
    beside = ROOT / "tests" / "parser_fuzz" if name in TARGETS else cpp_targets()[name]
    kept = beside / "corpus" / name.removeprefix("cpp_")
    options = [
        f"-max_total_time={seconds}", f"-timeout={_SECONDS_OF_ONE}", f"-rss_limit_mb={_MEGABYTES}",
        f"-max_len={_LONGEST}", f"-artifact_prefix={work}/", "-print_final_stats=1",
        f"-close_fd_mask={0 if name in TARGETS else 2}",
    ]  # fmt: skip
    folders = [str(one) for one in (grown, seeds, kept) if one.is_dir()]
    log = work / "log.txt"
    environment = {**os.environ, "CKGEN_FUZZ_SEEDS": str(seeds)}
    with log.open("w") as out:
        done = subprocess.run(
            [*command, *options, *folders], cwd=ROOT / "tests", env=environment, stdout=out, stderr=out, check=False
        )
    code = done.returncode
    print(f"{name}: {'clean' if code == 0 else f'FOUND, see {log}'}; {told(log)}", flush=True)
    return code == 0


def python_command(name: str, work: Path) -> list[str]:
    """Atheris in a process of its own; the target's seeds and words lie in files."""
    target = TARGETS[name]
    for number, data in enumerate(target.seeds()):
        (work / "seeds" / f"{number:04}").write_bytes(data)
    words = work / "words.txt"
    words.write_text("".join('"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n' for word in target.words))
    return [sys.executable, "-m", "parser_fuzz.run_atheris", name, f"-dict={words}"]


def built(name: str) -> Path:
    """The program of a C++ target."""
    compiler, folder = clang(), WORK / "cmake"
    assert compiler is not None
    flags = f"-fsanitize={_SANITIZERS},fuzzer-no-link -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
    configure = [
        "cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", "-DCKGEN_BUILD_TESTS=ON", "-DCKGEN_FUZZ=ON",
        "-DCKGEN_BUILD_HIP_SHIM=OFF", "-DCKGEN_WERROR=OFF", "-DCKGEN_HOST_OPTIMISATION=-O1",
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
        "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1", f"-DCMAKE_CXX_FLAGS={flags}", f"-DCMAKE_CXX_COMPILER={compiler}",
    ]  # fmt: skip
    program = f"ckgen_fuzz_{name.removeprefix('cpp_')}"
    for command in (configure, ["cmake", "--build", str(folder), "-j2", "--target", program]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            print(f"{done.stdout}\n{name} does not build with {compiler}", file=sys.stderr)
            sys.exit(2)
    return folder / "ckgen" / "dispatcher_cpp" / "tests" / program


def told(log: Path) -> str:
    """Executions and coverage, from libFuzzer's own words."""
    lines = log.read_text(errors="replace").splitlines()
    runs = [line.split()[-1] for line in lines if line.startswith("stat::number_of_executed_units")]
    states = [line for line in lines if " cov: " in line]
    coverage = states[-1].partition("cov: ")[2].partition(" corp")[0] if states else "not told"
    return f"{runs[-1] if runs else '?'} executions, coverage {coverage}"


if __name__ == "__main__":
    sys.exit(main())
