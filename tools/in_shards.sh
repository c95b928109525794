#!/usr/bin/env bash
# Runs the test programs of a folder, each in twice as many processes as there are processors, which end about together:
# to start one under a sanitizer takes longer than most tests. What a process writes to stderr is shown if it fails.
# Exit 0 only if all pass.
set -uo pipefail
cd "$1" || exit 1

shard() {  # program, index
  local said result=0
  said=$(mktemp) || return 1
  GTEST_SHARD_INDEX=$2 "$1" 2>"$said" || result=1
  [ "$result" -eq 0 ] || cat "$said" >&2
  rm -f "$said"
  return "$result"
}
export -f shard

processors=$(nproc) result=0
shards=$((2 * processors))
export GTEST_TOTAL_SHARDS="$shards" GTEST_BRIEF=1
for program in ./ckgen_*_tests; do
  echo "$program"
  seq 0 $((shards - 1)) | xargs -P "$processors" -I{} bash -c 'shard "$@"' shard "$program" {} || result=1
done
exit "$result"
