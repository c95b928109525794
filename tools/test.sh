#!/usr/bin/env bash
# Sets up .venv and runs every check; continuous integration runs exactly this. Exit 0 only if all of them pass.
set -uo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "tools/test.sh: $*" >&2
  exit 1
}

# The distribution's Python where it will do: its build is optimised by profiles, where that of pyenv takes a third longer.
python=python3
/usr/bin/python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && python=/usr/bin/python3

# System packages: only what is missing, and root only for that.
missing=()
command -v g++ >/dev/null || missing+=(g++)
command -v make >/dev/null || missing+=(make)
command -v ccache >/dev/null || missing+=(ccache)
"$python" -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
if command -v g++ >/dev/null; then
  echo '#include <gtest/gtest.h>' | g++ -x c++ -fsyntax-only - 2>/dev/null || missing+=(libgtest-dev)
  echo '#include <zlib.h>' | g++ -x c++ -fsyntax-only - 2>/dev/null || missing+=(zlib1g-dev)
else
  missing+=(libgtest-dev zlib1g-dev)
fi
if [ "${#missing[@]}" -gt 0 ]; then
  sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  command -v apt-get >/dev/null || fail "please install: ${missing[*]}"
  [ "${#sudo[@]}" -eq 0 ] || command -v sudo >/dev/null || fail "not root and no sudo; please install: ${missing[*]}"
  "${sudo[@]}" apt-get update -qq && "${sudo[@]}" apt-get install -y -qq "${missing[@]}" || fail "cannot install ${missing[*]}"
fi

[ -x .venv/bin/pip ] || "$python" -m venv .venv || fail "cannot create .venv"
# The pip that a venv comes with may be old: that of Python 3.11 takes twice as long to choose among packages.
.venv/bin/pip install -q -U pip cmake ninja || fail "cannot install cmake and ninja"
export PATH="$PWD/.venv/bin:$PATH"
PATH="$(python -c 'import cmake; print(cmake.CMAKE_BIN_DIR)'):$PATH"  # the program: pip's of that name is Python first
export LC_ALL=C.UTF-8  # else Python sets a part of it for what it starts, and ccache takes that for another compile
unset CKGEN_TEST_BUILD
unset PYTHONDONTWRITEBYTECODE  # else each of the hundreds of commands that tests start compiles ckgen's modules again
export PIP_COMPILE=0  # most of what pip installs is never imported; the rest is compiled when it is
# Many of the builds below compile the same sources with the same flags, each in a folder of its own.
export PATH="/usr/lib/ccache:$PATH" CCACHE_DIR="$PWD/build/ccache" CCACHE_BASEDIR="$PWD"

failed=()
times=("$(printf '%6d s  %s' "$SECONDS" "set up")")
check() {  # name, command
  local name=$1 began=$SECONDS
  shift
  echo "== $name"
  "$@" || failed+=("$name")
  times+=("$(printf '%6d s  %s' "$((SECONDS - began))" "$name")")
}
texts() (
  local cache=()
  [ -d .mypy_cache ] || cache=(--cache-dir /dev/null)  # to write one takes a fifth of a first run
  check "ruff check" ruff check .
  check "ruff format" ruff format --check .
  check "mypy" mypy "${cache[@]}"
  check "clang-format" format_of_cpp
  [ "${#failed[@]}" -eq 0 ] || { echo "FAILED: ${failed[*]}"; exit 1; }
)
declare -A begun=()
begin() {  # log, niceness, command: runs beside what follows
  ( renice -n "$2" -p "$BASHPID" >/dev/null; exec >"build/$1.log" 2>&1; "${@:3}" ) &
  begun[$1]=$!
}
ended() {  # log
  local result=0
  wait "${begun[$1]}" || result=1
  cat "build/$1.log"
  return "$result"
}
format_of_cpp() {  # generated headers have their own form
  find dispatcher_cpp emulator examples tests benchmarks -not -path '*/golden/*' \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' \) \
    -print0 | xargs -0 grep -LZ 'Do not edit' | xargs -0 clang-format --dry-run -Werror
}
build() {
  cmake --preset ci >build/configure.log 2>&1 || { cat build/configure.log; return 1; }
  cmake --build --preset ci
}

sanitized() {  # preset: asan or tsan, each in its own build folder
  cmake --preset "$1" >"build/configure-$1.log" 2>&1 || { cat "build/configure-$1.log"; return 1; }
  cmake --build --preset "$1" && tools/in_shards.sh "build/$1/ckgen/dispatcher_cpp/tests"
}
sanitizers() (
  export CCACHE_DISABLE=1  # nothing else is compiled like this
  failed=() times=()
  check "address and undefined-behaviour sanitizers" sanitized asan
  check "thread sanitizer" sanitized tsan
  printf '%s\n' "${times[@]}"
  [ "${#failed[@]}" -eq 0 ] || { echo "FAILED: ${failed[*]}"; exit 1; }
)

mkdir -p build
begin cpp 0 build  # takes no Python package
begin sanitizers 10 sanitizers  # nor does this, which nothing waits for: done when pytest is, as both take all CPUs
check "Python packages" python -m pip install -q -e '.[test]'
[ "${#failed[@]}" -eq 0 ] || fail "cannot install the Python packages"
begin toolchain 0 ckgen toolchain amd --also older-ck
begin nvidia 10 ckgen toolchain nvidia
begin texts 10 texts
check "C++ build" ended cpp
check "ctest" ctest --preset ci --parallel "$(nproc)"
check "AMD toolchain" ended toolchain
export CKGEN_REQUIRE_AMD=1
check "emulator under address and undefined-behaviour sanitizers" python tools/sanitize_emulator.py
check "texts" ended texts
check "NVIDIA toolchain" ended nvidia
export CKGEN_REQUIRE_NVIDIA=1
check "pytest" pytest -q -n "$(nproc)" --dist loadfile --no-loadscope-reorder
check "what is left of the sanitizers" ended sanitizers

printf '%s\n' "${times[@]}" "$(printf '%6d s  in all' "$SECONDS")"
if [ "${#failed[@]}" -gt 0 ]; then
  echo "FAILED: ${failed[*]}"
  exit 1
fi
echo "all checks passed"
