#!/usr/bin/env bash
# The kernels of a library on the NVIDIA GPU of this machine: each on edge and random problems against sums in double
# with guard bands, a sample under compute-sanitizer, graphs and threads, rows whose bytes must not depend on others,
# bytes that thousands of launches must have in common, and times beside cuBLASLt's.
#
#   bash tools/gpu_test.sh LIBRARY RECORD.json [SHAPES]
#
# LIBRARY: what `ckgen build --targets h100 --emit library --name hopper` wrote, here or on a machine without a GPU.
# RECORD.json: what came out. SHAPES: of each check, 200. CKGEN_CUBLASLT: cuBLASLt's file. CKGEN_GPU_WORK: a folder to
# build in, and to find built. Exit 1: something was wrong. Without a GPU nothing runs, which the record says; exit 0.
set -uo pipefail
library=$(realpath "$1") record=$(realpath -m "$2") shapes=${3:-200}
root=$(realpath "$(dirname "$0")/..")
work=${CKGEN_GPU_WORK:-$(mktemp -d)}
found=$work/found
rm -rf "$found" && mkdir -p "$found"
begun=$SECONDS
finish() {
  echo $((SECONDS - begun)) > "$found/seconds.txt"
  python3 "$root/benchmarks/gpu/record.py" "$found" > "$record"
  exit "$1"
}
skip() { echo "$1" | tee -a "$found/skipped.txt"; }

if ! nvidia-smi --query-gpu=name,driver_version --format=csv,noheader > "$found/smi.txt" 2> /dev/null; then
  skip "all: no NVIDIA GPU is here"
  finish 0
fi
head -1 "$found/smi.txt" | cut -d, -f1 > "$found/device.txt"
head -1 "$found/smi.txt" | cut -d, -f2 | tr -d ' ' > "$found/driver.txt"

cmake -G Ninja -S "$root/benchmarks/gpu" -B "$work/app" -DCMAKE_BUILD_TYPE=Release \
  -DCKGEN_DEVICE_LIBRARY="$library" > "$found/build.log" 2>&1 &&
  cmake --build "$work/app" >> "$found/build.log" 2>&1 &&
  nvcc -cubin -arch=sm_90 "$root/benchmarks/gpu/sweep.cu" -o "$work/sweep.cubin" >> "$found/build.log" 2>&1 ||
  { tail -n 20 "$found/build.log"; finish 1; }
app=$work/app/on_device
fp8=gemm_fp8_ocp_bf16_rcr
status=0

has() { grep -qx "$1" "$library/signatures.txt"; }
those_of() {  # of the signatures named, those that the library has
  local signature
  for signature in "$@"; do
    if has "$signature"; then echo "$signature"; else skip "$signature: not in the library" >&2; fi
  done
}

echo "checks"
jobs=()
while read -r signature; do
  seeds="1 2"
  case $signature in grouped_* | *_batched | *_bias* | *_epi_*) seeds=1 ;; esac
  for seed in $seeds; do
    timeout 240 "$app" check "$signature" "$seed" "$shapes" > "$found/check_${signature}_$seed.txt" 2>&1 &
    jobs+=($!)
  done
done < "$library/signatures.txt"
for job in "${jobs[@]}"; do wait "$job" || status=1; done

if command -v compute-sanitizer > /dev/null; then
  echo "compute-sanitizer"  # of ours alone: racecheck reports kernels of cuBLASLt's too
  jobs=()
  for signature in $(those_of gemm_bf16_rcr ${fp8}_rowwise ${fp8}_blockscale gemm_bf16_rcr_bias_epi_gelu \
    grouped_gemm_bf16_rcr grouped_${fp8}_blockscale gemm_bf16_crr gemm_int8_bf16_rcr_rowwise); do
    for tool in memcheck racecheck; do
      CKGEN_CUBLASLT=none timeout 120 compute-sanitizer --tool "$tool" --error-exitcode 1 \
        "$app" check "$signature" 3 3 > "$found/sanitizer_${tool}_$signature.txt" 2>&1 &
      jobs+=($!)
    done
  done
  for job in "${jobs[@]}"; do wait "$job" || status=1; done
else
  skip "compute-sanitizer is not installed"
fi

echo "host"
for _ in $(those_of gemm_bf16_rcr); do
  timeout 60 "$app" host "$work/sweep.cubin" > "$found/host.txt" 2>&1 || status=1
  grep -q WRONG "$found/host.txt" && status=1
done

echo "one order of additions"
for signature in $(those_of gemm_bf16_rcr ${fp8}_rowwise ${fp8}_per_tensor ${fp8}_blockscale); do
  timeout 60 "$app" invariance "$signature" "$work/sweep.cubin" > "$found/invariance_$signature.txt" 2>&1 || status=1
done

echo "the same bytes"
for signature in $(those_of gemm_bf16_rcr ${fp8}_rowwise ${fp8}_per_tensor ${fp8}_blockscale gemm_int8_bf16_rcr_rowwise \
  gemm_int8_int32_rcr grouped_gemm_bf16_rcr grouped_${fp8}_rowwise grouped_${fp8}_blockscale \
  grouped_gemm_int8_bf16_rcr_rowwise); do
  timeout 60 "$app" repeat "$signature" "$work/sweep.cubin" 0.05 > "$found/repeat_$signature.txt" 2>&1 || status=1
done

echo "times"
for signature in $(those_of gemm_bf16_rcr ${fp8}_rowwise ${fp8}_blockscale); do
  timeout 100 "$app" table "$signature" "$work/sweep.cubin" 31 > "$found/table_$signature.csv" 2> "$found/said.txt" ||
    status=1
  grep -m 1 '^no cuBLASLt' "$found/said.txt" >> "$found/skipped.txt"
done
for signature in $(those_of gemm_bf16_rcr_batched ${fp8}_rowwise_batched grouped_gemm_bf16_rcr \
  grouped_${fp8}_rowwise grouped_${fp8}_blockscale grouped_gemm_int8_bf16_rcr_rowwise \
  grouped_gemm_bf16_rcr_epi_silu_mul gemm_bf16_rcr_bias_epi_gelu ${fp8}_rowwise_bias_epi_gelu \
  gemm_bf16_rcr_epi_silu_mul gemm_bf16_rrr gemm_bf16_ccr gemm_bf16_crr gemm_int8_bf16_rcr_rowwise \
  gemm_int8_int32_rcr); do
  times=$found/table_$signature.csv
  timeout 100 "$app" table "$signature" "$work/sweep.cubin" 11 > "$times" 2> "$found/said.txt" || status=1
  if python3 -c 'import torch' 2> /dev/null; then
    timeout 100 python3 "$root/benchmarks/gpu/torch_peers.py" "$times" > "$found/peers.csv" 2>> "$found/peers.txt"
    cat "$found/peers.csv" >> "$times"
  fi
done
python3 -c 'import torch' 2> /dev/null || skip "torch is not installed"
finish $status
