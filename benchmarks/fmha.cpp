// Attention on this CPU as benchmarks/fmha.py calls it: one shared object with a C interface over the host kernels.
// Tensors are [heads][rows][hdim], one sequence, all of one type.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "backends/host/fmha.hpp"
#include "backends/host/gemm.hpp"
#include "backends/host/threads.hpp"

namespace {

using namespace ckgen;

struct Attention {
  InstanceDesc instance{};
  Problem problem;
  std::uint32_t splits = 1;
  void* workspace = nullptr;
};

}  // namespace

extern "C" {

/// Null where it cannot run. bf16: else fp32.
void* bench_fmha_make(int bf16, int causal, int heads_q, int heads_k, std::int64_t rows, std::int64_t columns, int hdim,
                      int m0, int n0, int splits) {
  Attention made;
  Signature& signature = made.instance.signature;
  signature.op = Op::fmha;
  signature.a = signature.b = signature.c = bf16 != 0 ? DType::bf16 : DType::fp32;
  signature.fmha.masked = causal != 0;
  made.instance.backend = Backend::host;
  made.instance.host_config.isa = host::detect_isa();
  made.instance.fmha.m0 = m0;
  made.instance.fmha.n0 = n0;
  FmhaShape shape;
  shape.heads_q = heads_q, shape.heads_k = heads_k, shape.seqlen_q = rows, shape.seqlen_k = columns;
  shape.hdim_q = shape.hdim_v = hdim;
  made.problem = Problem(signature).fmha(shape);
  made.splits = static_cast<std::uint32_t>(splits);
  const std::size_t bytes = host::fmha_workspace(made.instance, made.problem, made.splits);
  if (bytes == 0) return nullptr;
  made.workspace = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  return new Attention(made);
}

/// 0 where it ran.
int bench_fmha_run(void* attention, const void* q, const void* k, const void* v, void* o, float scale) {
  const Attention& x = *static_cast<Attention*>(attention);
  const FmhaShape& shape = x.problem.fmha();
  const auto strides = [&](std::int64_t rows, std::int64_t heads) {
    return FmhaStrides{shape.hdim_q, rows * shape.hdim_q, heads * rows * shape.hdim_q};
  };
  FmhaArgs args;
  args.q = q, args.k = k, args.v = v, args.o = o, args.scale = scale;
  args.q_strides = args.o_strides = strides(shape.seqlen_q, shape.heads_q);
  args.k_strides = args.v_strides = strides(shape.seqlen_k, shape.heads_k);
  Launch launch{&x.instance, &x.problem, x.splits, nullptr, x.workspace, nullptr};
  launch.fmha = &args;
  return static_cast<int>(host::fmha(launch).code);
}

void bench_fmha_free(void* attention) {
  std::free(static_cast<Attention*>(attention)->workspace);
  delete static_cast<Attention*>(attention);
}

const char* bench_isa() {
  return host::isa_name(host::detect_isa());
}

/// Seconds that all threads together take to read so many bytes; `seen` keeps the reads alive.
double bench_read(const void* memory, std::int64_t bytes, std::uint64_t* seen) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 20;
  using Words = std::uint64_t __attribute__((vector_size(64)));
  std::vector<std::uint64_t> found(static_cast<std::size_t>(host::thread_count()));
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  host::parallel_for(bytes / kPiece, host::thread_count(), [&](std::int64_t piece, int slot) {
    const Words* const at = reinterpret_cast<const Words*>(static_cast<const unsigned char*>(memory) + piece * kPiece);
    Words any[4] = {};
    for (std::int64_t i = 0; i < kPiece / 64; i += 4)
      for (std::int64_t w = 0; w < 4; ++w) any[w] |= at[i + w];
    found[static_cast<std::size_t>(slot)] |= any[0][0] | any[1][1] | any[2][2] | any[3][3];
  });
  for (const std::uint64_t one : found) *seen |= one;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // extern "C"
