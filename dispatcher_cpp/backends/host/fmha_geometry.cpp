#include "backends/host/fmha_geometry.hpp"

#include "backends/host/blocking.hpp"
#include "backends/host/check_fmha.hpp"
#include "backends/host/driver.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// What is packed at a time stays near the caches, but for a single pair beyond it.
constexpr std::size_t kPackedBytes = std::size_t{64} << 20;

std::size_t take(std::size_t& end, std::size_t bytes) noexcept {
  const std::size_t at = end;
  end += (bytes + 63) / 64 * 64;
  return at;
}

/// Beyond, unpacking pays.
constexpr std::int64_t kRowsInPlace = 32;

const FmhaRowKernels* row_kernels(const FmhaGeometry& g, std::int64_t rows) noexcept {
  if (rows > kRowsInPlace || g.signature.fmha.v_column) return nullptr;
  const DType type = g.signature.b;
  if (type != DType::fp32 && type != DType::fp16 && type != DType::bf16) return nullptr;
  const FmhaRowType index = type == DType::fp32 ? kFmhaRowsFp32 : type == DType::fp16 ? kFmhaRowsFp16 : kFmhaRowsBf16;
  const FmhaRowKernels* kernels = &g.kernels->rows[index];
  return kernels->scores == nullptr ? nullptr : kernels;
}

}  // namespace

FmhaGeometry make_fmha_geometry(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch) noexcept {
  FmhaGeometry g{};
  g.signature = instance.signature;
  g.shape = problem.fmha();
  const FmhaTraits& traits = g.signature.fmha;
  const FmhaShape& shape = g.shape;
  const Isa isa = fmha_isa(instance);
  g.isa = table_for(isa);
  g.kind = fmha_kind(g.signature, shape, isa);
  g.kernels = &g.isa->fmha[static_cast<int>(g.kind)];
  const int most_threads = instance.backend == Backend::host ? instance.host_config.threads : 0;
  g.threads = most_threads > 0 ? std::min(most_threads, thread_count()) : thread_count();
  g.m0 = instance.fmha.m0;
  g.n0 = instance.fmha.n0;
  g.splits = std::max<std::uint32_t>(k_batch, 1);
  g.group = shape.heads_q / shape.heads_k;
  g.pairs = shape.batch * shape.heads_k;
  const std::int64_t rows = shape.seqlen_q * g.group;
  g.row_tiles = ceil_div(rows, g.m0);
  g.tiles = ceil_div(shape.seqlen_k, g.n0);
  const std::int64_t elements = elements_per_word(g.kind), panel = g.kernels->panel;
  g.words = ceil_div(shape.hdim_q, elements);
  g.v_words = ceil_div(g.n0, elements);
  g.k_panels = ceil_div(g.n0, panel);
  g.v_panels = ceil_div(shape.hdim_v, panel);
  g.in_place = row_kernels(g, rows);
  g.shared = g.row_tiles > 1 && g.in_place == nullptr;

  const auto bytes = [](std::int64_t count, std::size_t each) { return static_cast<std::size_t>(count) * each; };
  std::size_t end = 0;
  take(end, bytes(g.k_panels * g.words * panel, 4));
  g.v_offset = end;
  take(end, bytes(g.v_panels * g.v_words * panel, 4));
  g.tile_bytes = end;

  end = 0;
  if (g.shared) {
    const std::size_t pair_bytes = std::max<std::size_t>(bytes(g.tiles, g.tile_bytes), 1);
    g.chunk = std::clamp<std::int64_t>(static_cast<std::int64_t>(kPackedBytes / pair_bytes), 1, g.pairs);
    take(end, bytes(g.chunk, pair_bytes));
  } else {
    g.chunk = g.pairs;
  }
  g.partial_bytes = bytes(shape.hdim_v + 2, sizeof(float));
  g.partial_offset = end;
  if (g.splits > 1) take(end, bytes(g.pairs * rows * g.splits, g.partial_bytes));
  g.slots_offset = end;

  g.q_words = (g.in_place == nullptr ? g.words : ceil_div(g.words, kFmhaLanes) * kFmhaLanes) * kFmhaRows;
  const std::int64_t groups = ceil_div(std::min(g.m0, rows), kFmhaRows);
  const std::size_t scores = kFmhaRows * kFmhaStride * sizeof(float);
  end = 0;
  g.tile = take(end, g.shared || g.in_place != nullptr ? 0 : g.tile_bytes);
  g.pointers = take(end, g.in_place == nullptr ? 0 : bytes(4 * kFmhaMaxColumns, sizeof(void*)));
  g.q = take(end, bytes(groups * g.q_words, 4));
  g.out = take(end, bytes(groups * g.v_panels * kFmhaRows * panel, 4));
  g.state = take(end, bytes(groups, sizeof(FmhaState)));
  g.scores = take(end, scores);
  g.weights = take(end, scores);
  g.bias = take(end, traits.bias == FmhaBias::elementwise ? scores : 0);
  g.factor = take(end, traits.dropout != FmhaDropout::none || traits.quant == FmhaQuant::blockscale ? scores : 0);
  g.keep = take(end, traits.dropout == FmhaDropout::philox ? 16 * kFmhaMaxColumns : 0);
  g.columns = take(end, 2 * kFmhaStride * sizeof(float));
  g.row = take(end, bytes(std::max(g.words, g.v_panels * panel), 4));
  g.slot_bytes = end;
  g.bytes = g.slots_offset + static_cast<std::size_t>(g.threads) * g.slot_bytes;
  return g;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
