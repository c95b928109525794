#include "backends/host/fmha/append.hpp"

#include "backends/host/fmha/append_sequence.hpp"
#include "backends/host/fmha/check.hpp"
#include "backends/host/fmha/check_append.hpp"
#include "backends/host/gemm/blocking.hpp"
#include "backends/host/gemm/pack_source.hpp"
#include "backends/host/threads.hpp"

#include <algorithm>
#include <cstring>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr std::int64_t kRowsPerTask = 8;
// Below so many elements, waking threads costs more than they bring.
constexpr double kSerialElements = 1 << 15;

struct AppendRun {
  const Signature& signature;
  const FmhaShape& shape;
  const FmhaArgs& args;
  const IsaTable& isa;
};

/// A row of one head of the cache: `at` is its first element, `run` elements lie together, the next ones `step` away.
struct Place {
  std::int64_t at, run, step;
};

Place place_of(const AppendRun& run, const FmhaStrides& s, std::int64_t base, std::int64_t head, std::int64_t page,
               std::int64_t row, std::int64_t hdim, bool of_v) noexcept {
  const FmhaTraits& t = run.signature.fmha;
  base += head * s.head + page * s.batch;
  if (t.kv_layout == FmhaKvLayout::vectorized) {
    const std::int64_t vector = 16 / bytes_of(run.signature.b, 1), rows = run.shape.page_size;
    if (of_v) return {base + row / vector * hdim * vector + row % vector, 1, vector};
    return {base + row * vector, vector, rows * vector};
  }
  if (of_v && t.v_column) return {base + row, 1, s.row};
  return {base + row * s.row, hdim, 0};
}

/// What is computed of one row, in fp32.
class Row {
 public:
  Row(const AppendRun& run, const void* base, std::int64_t at, std::int64_t hdim) noexcept : run_(run), hdim_(hdim) {
    decode(base, at, hdim, values_);
  }

  void rotate(std::int64_t position) noexcept {
    const FmhaArgs& a = run_.args;
    const std::int64_t half = run_.shape.rotary_dim / 2;
    float cos[kAppendMaxHdim / 2], sin[kAppendMaxHdim / 2];
    decode(a.rotary_cos, position * half, half, cos);
    decode(a.rotary_sin, position * half, half, sin);
    const bool interleaved = run_.signature.fmha.rope == FmhaRope::interleaved;
    const std::int64_t step = interleaved ? 2 : 1, apart = interleaved ? 1 : half;
    for (std::int64_t t = 0; t < half; ++t) {
      float &x = values_[t * step], &y = values_[t * step + apart];
      const float x0 = x, x1 = y;
      x = x0 * cos[t] - x1 * sin[t];
      y = x1 * cos[t] + x0 * sin[t];
    }
  }
  void divide(float descale) noexcept {
    for (std::int64_t d = 0; d < hdim_; ++d) values_[d] /= descale;
  }
  void encode(DType type, void* out) const noexcept { run_.isa.encode(type, values_, out, hdim_); }

 private:
  void decode(const void* base, std::int64_t at, std::int64_t count, float* out) const noexcept {
    const DType type = run_.signature.a;
    const PackSource source = make_pack_source(PackKind::f32, type, element(base, type, at), 0, true, false);
    run_.isa.pack(source, 0, 1, 1, 0, count, out);
  }

  const AppendRun& run_;
  std::int64_t hdim_;
  float values_[kAppendMaxHdim];
};

/// Writes a row, of the cache's type, to its place.
void put(const AppendRun& run, const unsigned char* row, void* cache, const Place& to, std::int64_t hdim) noexcept {
  const DType type = run.signature.b;
  const std::int64_t bytes = bytes_of(type, to.run);
  unsigned char* out = static_cast<unsigned char*>(cache) + bytes_of(type, to.at);
  for (std::int64_t d = 0; d < hdim; d += to.run, row += bytes, out += bytes_of(type, to.step))
    std::memcpy(out, row, static_cast<std::size_t>(bytes));
}

/// New row i of K, or of V, of all heads.
void append_row(const AppendRun& run, const AppendSequence& x, std::int64_t i, bool of_v) noexcept {
  const Signature& s = run.signature;
  const FmhaShape& shape = run.shape;
  const FmhaArgs& a = run.args;
  const FmhaStrides &from = of_v ? a.v_new_strides : a.k_new_strides, &to = of_v ? a.v_strides : a.k_strides;
  const void* base = of_v ? a.v_new : a.k_new;
  const float* descale = of_v ? a.v_descale : a.k_descale;
  const std::int64_t hdim = of_v ? shape.hdim_v : shape.hdim_q, position = x.before + i;
  const bool rotates = !of_v && s.fmha.rope != FmhaRope::none, copies = !rotates && s.a == s.b;
  std::int64_t page = 0, row = position;
  if (x.pages != nullptr) {
    page = x.pages[position / shape.page_size];
    row = position % shape.page_size;
  }
  for (std::int64_t head = 0; head < shape.heads_k; ++head) {
    const std::int64_t at = (of_v ? x.v_new : x.k_new) + i * from.row + head * from.head;
    const Place place = place_of(run, to, of_v ? x.v : x.k, head, page, row, hdim, of_v);
    void* const cache = of_v ? a.v_cache : a.k_cache;
    if (copies) {
      put(run, element(base, s.a, at), cache, place, hdim);
      continue;
    }
    Row values(run, base, at, hdim);
    if (rotates) values.rotate(position);
    if (s.fmha.quant == FmhaQuant::per_tensor) values.divide(descale[0]);
    if (s.fmha.quant == FmhaQuant::kv_blockscale) values.divide(descale[page * shape.heads_k + head]);
    unsigned char stored[kAppendMaxHdim * sizeof(float)];
    values.encode(s.b, stored);
    put(run, stored, cache, place, hdim);
  }
}

/// Row i of Q of all heads.
void rotate_row(const AppendRun& run, const AppendSequence& x, std::int64_t i) noexcept {
  const FmhaArgs& a = run.args;
  const DType type = run.signature.c;
  for (std::int64_t head = 0; head < run.shape.heads_q; ++head) {
    Row values(run, a.q, x.q + i * a.q_strides.row + head * a.q_strides.head, run.shape.hdim_q);
    values.rotate(x.before + i);
    const std::int64_t at = x.o + i * a.o_strides.row + head * a.o_strides.head;
    values.encode(type, static_cast<unsigned char*>(a.o) + bytes_of(type, at));
  }
}

void execute(const AppendRun& run, int threads) noexcept {
  const FmhaShape& x = run.shape;
  const FmhaTraits& t = run.signature.fmha;
  const std::int64_t rows = std::max(x.seqlen_new, t.rope != FmhaRope::none ? x.seqlen_q : 0);
  const std::int64_t parts = (rows + kRowsPerTask - 1) / kRowsPerTask;
  const double elements = static_cast<double>(x.batch) * static_cast<double>(rows) *
                          (x.heads_k * (x.hdim_q + x.hdim_v) + x.heads_q * x.hdim_q);
  parallel_for(x.batch * parts, elements < kSerialElements ? 1 : threads, [&](std::int64_t task, int) {
    const AppendSequence sequence = append_sequence(t, x, run.args, task / parts);
    const std::int64_t first = task % parts * kRowsPerTask, end = first + kRowsPerTask;
    for (std::int64_t i = first; i < std::min(end, sequence.added); ++i) {
      append_row(run, sequence, i, false);
      append_row(run, sequence, i, true);
    }
    for (std::int64_t i = first; i < std::min(end, sequence.rotated); ++i) rotate_row(run, sequence, i);
  });
}

}  // namespace

Status fmha_append(const Launch& launch) noexcept {
  const InstanceDesc& instance = *launch.instance;
  const FmhaShape& shape = launch.problem->fmha();
  const FmhaArgs& args = *launch.fmha;
  Status s = check_fmha_append(instance, shape);
  if (s.ok()) s = check_fmha_append_args(instance.signature, shape, args);
  if (!s.ok()) return s;
  const int most = instance.backend == Backend::host ? instance.host_config.threads : 0;
  execute({instance.signature, shape, args, *table_for(fmha_isa(instance))},
          most > 0 ? std::min(most, thread_count()) : thread_count());
  return s;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
