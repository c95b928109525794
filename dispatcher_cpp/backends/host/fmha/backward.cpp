// The door, and the steps behind it.
#include "backends/host/fmha/backward.hpp"

#include "backends/host/fmha/backward_bias.hpp"
#include "backends/host/fmha/backward_tile.hpp"
#include "backends/host/fmha/check_backward.hpp"
#include "backends/host/fmha/wait.hpp"
#include "backends/host/gemm/check.hpp"
#include "backends/host/gemm/driver.hpp"
#include "backends/host/gemm/pack_source.hpp"
#include "backends/host/threads.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

bool empty(const FmhaShape& x) noexcept {
  return x.seqlen_q == 0 && x.seqlen_k == 0;
}

/// How many key blocks have added to dQ of a row tile.
std::atomic<std::uint32_t>& turn(const FmhaBackwardRun& run, std::int64_t b, std::int64_t head,
                                 std::int64_t tile) noexcept {
  auto* const all = reinterpret_cast<std::atomic<std::uint32_t>*>(run.workspace + run.g.tickets);
  return all[(b * run.g.shape.heads_q + head) * run.g.row_tiles + tile];
}

/// Element offsets of a row of dQ.
std::int64_t dq_at(const FmhaBackwardRun& run, std::int64_t b, std::int64_t head, std::int64_t row) noexcept {
  const FmhaStrides& s = run.args.dq_strides;
  const std::int64_t base = run.g.signature.fmha.varlen ? run.first_row(b) * s.row : b * s.batch;
  return base + head * s.head + row * s.row;
}

void encode_row(const FmhaBackwardRun& run, const float* values, void* tensor, std::int64_t at,
                std::int64_t count) noexcept {
  const DType type = run.g.signature.a;
  run.g.isa->encode(type, values, static_cast<unsigned char*>(tensor) + bytes_of(type, at), count);
}

// ---- dot_do_o -------------------------------------------------------------------------------------------------------

/// A row as fp32: where it is, or in `room`.
const float* decoded_row(const FmhaBackwardRun& run, const void* tensor, std::int64_t at, std::int64_t count,
                         float* room) noexcept {
  const DType type = run.g.signature.a;
  if (type == DType::fp32) return static_cast<const float*>(tensor) + at;
  const PackSource source = make_pack_source(PackKind::f32, type, element(tensor, type, at), 0, true, false);
  run.g.isa->pack(source, 0, 1, 1, 0, count, room);
  return room;
}

/// In sixteen sums, for the vectors of any level.
float dot(const float* a, const float* b, std::int64_t count) noexcept {
  float sums[16] = {};
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16)
    for (int lane = 0; lane < 16; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  for (int lane = 0; i < count; ++i, ++lane) sums[lane] += a[i] * b[i];
  for (int half = 8; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  return sums[0];
}

void dot_do_o(const FmhaBackwardRun& run, std::int64_t b, std::int64_t head, std::int64_t tile) noexcept {
  const FmhaBackwardGeometry& g = run.g;
  const FmhaArgs& a = run.args;
  const FmhaSequence x = run.sequence(b);
  if (g.blocks > 1) turn(run, b, head, tile).store(0, std::memory_order_relaxed);
  const std::int64_t first = tile * g.m0, end = std::min(first + g.m0, x.length_q);
  if (first >= end) return;
  const std::int64_t d_o = g.signature.fmha.varlen ? run.first_row(b) * a.dout_strides.row : b * a.dout_strides.batch;
  float of_o[kFmhaMaxHdim], of_do[kFmhaMaxHdim];
  for (std::int64_t i = first; i < end; ++i) {
    const std::int64_t o = x.o + head * a.o_strides.head + i * a.o_strides.row;
    const std::int64_t dout = d_o + head * a.dout_strides.head + i * a.dout_strides.row, hdim = g.shape.hdim_v;
    *run.delta(head, run.first_row(b) + i) =
        dot(decoded_row(run, a.o, o, hdim, of_o), decoded_row(run, a.dout, dout, hdim, of_do), hdim);
  }
  if (x.length_k > 0 && run.blocks_of(x, tile).count() > 0) return;
  const float zeros[kFmhaMaxHdim] = {};
  for (std::int64_t i = first; i < end; ++i) encode_row(run, zeros, a.dq, dq_at(run, b, head, i), g.shape.hdim_q);
}

/// The gradient of a head's sink: -sum of exp(sink - lse) delta over all rows.
void write_dsink(const FmhaBackwardRun& run, std::int64_t head) noexcept {
  const FmhaArgs& a = run.args;
  double sum = 0.0;
  for (std::int64_t b = 0; b < run.g.shape.batch; ++b) {
    const FmhaSequence x = run.sequence(b);
    const float* const lse = a.lse + x.lse + head * a.lse_head_stride;
    for (std::int64_t i = 0; i < x.length_q; ++i) {
      if (!(lse[i] > -std::numeric_limits<float>::infinity())) continue;
      const double weight = std::exp(static_cast<double>(a.sink[head]) - static_cast<double>(lse[i]));
      sum -= weight * static_cast<double>(*run.delta(head, run.first_row(b) + i));
    }
  }
  a.dsink[head] = static_cast<float>(sum);
}

// ---- dq_dk_dv -------------------------------------------------------------------------------------------------------

/// Waits until `rank` key blocks have added to the rows. Tasks start in the order of their blocks, so that who is
/// waited for runs.
void wait_for(const std::atomic<std::uint32_t>& turn, std::uint32_t rank) noexcept {
  wait_until([&] { return turn.load(std::memory_order_acquire) == rank; });
}

/// fp32 sums of a row tile's dQ: where it is wanted, or its workspace.
struct DqSums {
  float* first;
  std::int64_t ld;
};

DqSums dq_sums(const FmhaBackwardRun& run, std::int64_t b, std::int64_t head, std::int64_t tile) noexcept {
  const std::int64_t row = tile * run.g.m0;
  if (run.g.keeps_dq) return {run.dq(head, run.first_row(b) + row), run.g.shape.hdim_q};
  return {static_cast<float*>(run.args.dq) + dq_at(run, b, head, row), run.args.dq_strides.row};
}

/// Adds the tile's part to dQ of its rows; the last one of `count` parts scales and writes it.
void add_dq(const FmhaBackwardRun& run, FmhaBackwardTile& tile, const DqSums& sums, std::int64_t b, std::int64_t head,
            std::int64_t i, std::int64_t rank, std::int64_t count) noexcept {
  const FmhaBackwardGeometry& g = run.g;
  const std::int64_t hdim = g.shape.hdim_q;
  if (g.blocks > 1) wait_for(turn(run, b, head, i), static_cast<std::uint32_t>(rank));
  tile.dq(sums.first, sums.ld, rank > 0);
  if (rank == count - 1) {
    g.kernels->backward.add({sums.first, sums.ld, sums.first, sums.ld, tile.live_count(), hdim, run.args.scale, false});
    for (std::int64_t r = 0; r < tile.live_count() && g.keeps_dq; ++r)
      encode_row(run, sums.first + r * sums.ld, run.args.dq, dq_at(run, b, head, i * g.m0 + r), hdim);
  }
  if (g.blocks > 1) turn(run, b, head, i).store(static_cast<std::uint32_t>(rank + 1), std::memory_order_release);
}

void write_keys(const FmhaBackwardRun& run, const FmhaBackwardTile& tile, std::int64_t b, std::int64_t kv_head,
                std::int64_t first, std::int64_t count, float* row) noexcept {
  const FmhaBackwardGeometry& g = run.g;
  const FmhaArgs& a = run.args;
  const auto at = [&](const FmhaStrides& s, std::int64_t j) {
    const std::int64_t base = g.signature.fmha.varlen ? a.seqstart_k[b] * s.row : b * s.batch;
    return base + kv_head * s.head + (first + j) * s.row;
  };
  for (std::int64_t j = 0; j < count; ++j) {
    const float* const dk = tile.dk() + j * g.q_panels * g.panel;
    for (std::int64_t d = 0; d < g.shape.hdim_q; ++d) row[d] = dk[d] * a.scale;
    encode_row(run, row, a.dk, at(a.dk_strides, j), g.shape.hdim_q);
    encode_row(run, tile.dv() + j * g.v_panels * g.panel, a.dv, at(a.dv_strides, j), g.shape.hdim_v);
  }
}

void dq_dk_dv(const FmhaBackwardRun& run, std::int64_t pair, std::int64_t block, int slot) noexcept {
  const FmhaBackwardGeometry& g = run.g;
  const std::int64_t b = pair / g.shape.heads_k, kv_head = pair % g.shape.heads_k, first = block * g.n0;
  const FmhaSequence x = run.sequence(b);
  if (first >= x.length_k) return;
  unsigned char* const memory = run.slot(slot);
  FmhaBackwardTile tile(run, memory);
  tile.clear_keys();
  bool has_keys = false;
  const std::int64_t tiles = run.row_tiles(x);
  for (std::int64_t head = kv_head * g.group; head < (kv_head + 1) * g.group; ++head)
    for (std::int64_t i = 0; i < tiles; ++i) {
      const FmhaTiles seen = run.blocks_of(x, i);
      if (block >= seen.sink && (block < seen.first || block >= seen.last)) continue;
      if (!has_keys) tile.keys(x, b, kv_head, block);
      has_keys = true;
      const DqSums sums = dq_sums(run, b, head, i);
      tile.rows(head, i, {sums.first, sums.ld * 4, std::min(g.m0, x.length_q - i * g.m0), g.shape.hdim_q * 4});
      tile.add_keys();
      const std::int64_t rank = block < seen.sink ? block : seen.sink + block - seen.first;
      add_dq(run, tile, sums, b, head, i, rank, seen.count());
    }
  write_keys(run, tile, b, kv_head, first, std::min(g.n0, x.length_k - first),
             reinterpret_cast<float*>(memory + g.row));
}

// ---- all ------------------------------------------------------------------------------------------------------------

int threads_for(const FmhaBackwardGeometry& g) noexcept {
  const FmhaShape& x = g.shape;
  const double scores =
      static_cast<double>(x.batch) * x.heads_q * static_cast<double>(x.seqlen_q) * static_cast<double>(x.seqlen_k);
  return 2.0 * scores * (3 * x.hdim_q + 2 * x.hdim_v) < kSerialFlops ? 1 : g.threads;
}

void execute(const FmhaBackwardRun& run) noexcept {
  const FmhaBackwardGeometry& g = run.g;
  const int threads = threads_for(g);
  const std::int64_t heads = g.shape.heads_q;
  parallel_for(g.shape.batch * heads * g.row_tiles, threads, [&](std::int64_t i, int) {
    const std::int64_t plane = i / g.row_tiles;
    dot_do_o(run, plane / heads, plane % heads, i % g.row_tiles);
  });
  if (run.args.dsink != nullptr) parallel_for(heads, threads, [&](std::int64_t head, int) { write_dsink(run, head); });
  // Block by block over all pairs: a pair's blocks wait for one another.
  parallel_for(g.pairs * g.blocks, threads,
               [&](std::int64_t i, int slot) { dq_dk_dv(run, i % g.pairs, i / g.pairs, slot); });
  if (run.args.dbias != nullptr) write_fmha_dbias(run, threads);
}

}  // namespace

std::size_t fmha_backward_workspace(const InstanceDesc& instance, const Problem& problem) noexcept {
  if (!check_fmha_backward(instance, problem.fmha()).ok() || empty(problem.fmha())) return 0;
  return make_fmha_backward_geometry(instance, problem).bytes;
}

Status fmha_backward(const Launch& launch) noexcept {
  const InstanceDesc& instance = *launch.instance;
  const Problem& problem = *launch.problem;
  Status s = check_fmha_backward(instance, problem.fmha());
  if (!s.ok() || empty(problem.fmha())) return s;
  s = check_fmha_backward_args(instance.signature, problem.fmha(), *launch.fmha);
  if (s.ok()) s = check_workspace(launch.workspace);
  if (!s.ok()) return s;
  const FmhaBackwardGeometry g = make_fmha_backward_geometry(instance, problem);
  execute({g, *launch.fmha, static_cast<unsigned char*>(launch.workspace)});
  return s;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
