#include "backends/host/fmha/pack.hpp"

#include "backends/host/fmha/gather.hpp"
#include "backends/host/gemm/pack_source.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr std::int64_t kMaxPanel = 32;

// Rows of V that go to all panels before the next ones: a row's lines are used together.
constexpr std::int64_t kRowsOfV = 64;

/// Words of a row of Q that lie together, in a group of so many rows.
std::int64_t words_together(const FmhaGeometry& g, std::int64_t rows) noexcept {
  if (g.in_place == nullptr) return g.kernels->groups.grain > 0 ? g.q_words / kFmhaRows : 1;
  return rows > g.in_place->most_single ? g.in_place->many_together : g.kernels->panel / 2;
}

/// Whether all rows of K are known to have numbers of 31 bits.
bool has_row_numbers(const FmhaGeometry& g, const FmhaStrides& s) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return g.signature.fmha.kv_layout == FmhaKvLayout::linear && s.row > 0 && s.batch % s.row == 0 && g.shape.pages > 0 &&
         g.shape.pages <= kMost / std::max<std::int64_t>(s.batch / s.row, 1) - g.shape.page_size;
}

void pack_k(const FmhaGeometry& g, const FmhaArgs& args, const FmhaSequence& x, std::int64_t kv_head,
            std::int64_t first, std::int64_t count, std::uint32_t* out) noexcept {
  const DType type = g.signature.b;
  const std::int64_t panel = g.kernels->panel, hdim = g.shape.hdim_q;
  const FmhaStrides& s = args.k_strides;
  if (x.pages != nullptr && !has_row_numbers(g, s)) {
    alignas(64) unsigned char rows[kMaxPanel * kFmhaMaxHdim * sizeof(float)];
    for (std::int64_t j = 0; j < count; j += panel) {
      const std::int64_t take = std::min(panel, count - j);
      gather_fmha_keys(g, args, x, kv_head, first + j, take, rows);
      g.isa->pack(make_pack_source(g.kind, type, rows, hdim, true, false), 0, take, static_cast<int>(panel), 0, hdim,
                  out + j * g.words);
    }
    return;
  }
  PackSource source = make_pack_source(g.kind, type, element(args.k, type, x.k + kv_head * s.head), s.row, true, false);
  std::int32_t rows[kFmhaMostColumns];
  if (x.pages != nullptr) {
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t at = first + j, page = x.pages[at / g.shape.page_size];
      rows[j] = static_cast<std::int32_t>(page * (s.batch / s.row) + at % g.shape.page_size);
    }
    source.rows = rows;
    first = 0;
  }
  for (std::int64_t j = 0; j < count; j += panel)
    g.isa->pack(source, first + j, std::min(panel, count - j), static_cast<int>(panel), 0, hdim, out + j * g.words);
}

void pack_v(const FmhaGeometry& g, const FmhaArgs& args, const FmhaSequence& x, std::int64_t kv_head,
            std::int64_t first, std::int64_t count, std::uint32_t* out) noexcept {
  const DType type = g.signature.b;
  const std::int64_t panel = g.kernels->panel, elements = elements_per_word(g.kind), hdim = g.shape.hdim_v;
  const FmhaStrides& s = args.v_strides;
  const bool vectors = g.signature.fmha.kv_layout == FmhaKvLayout::vectorized;
  const std::int64_t vector = kFmhaVectorBytes / bytes_of(type, 1);
  // Pages of few rows cost a call each; a word's keys may be of two pages.
  if (x.pages != nullptr && !vectors &&
      (g.shape.page_size < kMaxPanel || (g.shape.page_size | first) % elements != 0)) {
    alignas(64) unsigned char rows[kMaxPanel * kFmhaMaxHdim * sizeof(float)];
    for (std::int64_t done = 0; done < count; done += kMaxPanel) {
      const std::int64_t take = std::min(kMaxPanel, count - done);
      gather_fmha_values(g, args, x, kv_head, first + done, take, rows);
      const PackSource source = make_pack_source(g.kind, type, rows, hdim, false, false);
      for (std::int64_t d = 0; d < hdim; d += panel)
        g.isa->pack(source, d, std::min(panel, hdim - d), static_cast<int>(panel), 0, take,
                    out + d * g.v_words + done / elements * panel);
    }
    return;
  }
  for (std::int64_t done = 0; done < count;) {
    std::int64_t take = count - done, base = x.v + kv_head * s.head, at = first + done;
    if (x.pages != nullptr) {
      take = std::min(take, g.shape.page_size - at % g.shape.page_size);
      base += x.pages[at / g.shape.page_size] * s.batch;
      at %= g.shape.page_size;
    }
    if (vectors) {  // a vector of keys is a row per dimension
      take = std::min(take, vector - at % vector);
      base += at / vector * vector * hdim;
      at %= vector;
    }
    take = std::min(take, kRowsOfV);
    const PackSource source = make_pack_source(g.kind, type, element(args.v, type, base), vectors ? vector : s.row,
                                               vectors || g.signature.fmha.v_column, false);
    for (std::int64_t d = 0; d < hdim; d += panel)
      g.isa->pack(source, d, std::min(panel, hdim - d), static_cast<int>(panel), at, take,
                  out + d * g.v_words + done / elements * panel);
    done += take;
  }
}

}  // namespace

void pack_fmha_tile(const FmhaGeometry& g, const FmhaArgs& args, const FmhaSequence& sequence, std::int64_t kv_head,
                    std::int64_t first, std::int64_t count, unsigned char* out) noexcept {
  pack_k(g, args, sequence, kv_head, first, count, reinterpret_cast<std::uint32_t*>(out));
  pack_v(g, args, sequence, kv_head, first, count, reinterpret_cast<std::uint32_t*>(out + g.v_offset));
}

void pack_fmha_row(const IsaTable& isa, PackKind kind, DType type, const unsigned char* in, std::int64_t hdim,
                   std::int64_t words, std::uint32_t* out) noexcept {
  auto* const to = reinterpret_cast<unsigned char*>(out);
  std::int64_t done = (hdim + elements_per_word(kind) - 1) / elements_per_word(kind) * 4;
  if (type == (kind == PackKind::f32 ? DType::fp32 : DType::bf16)) {
    done = bytes_of(type, hdim);
    std::memcpy(to, in, static_cast<std::size_t>(done));
  } else {
    isa.pack(make_pack_source(kind, type, in, 0, true, false), 0, 1, 1, 0, hdim, out);
  }
  std::memset(to + done, 0, static_cast<std::size_t>(words * 4 - done));
}

void pack_fmha_rows(const FmhaGeometry& g, const FmhaArgs& args, const FmhaSequence& x, std::int64_t kv_head,
                    std::int64_t first, std::int64_t count, void* row, void* out) noexcept {
  const DType type = g.signature.a;
  const FmhaStrides& s = args.q_strides;
  const std::int64_t hdim = g.shape.hdim_q, together = words_together(g, count);
  if (g.group == 1 && g.in_place == nullptr && together == 1) {
    const PackSource source =
        make_pack_source(g.kind, type, element(args.q, type, x.q + kv_head * s.head), s.row, true, false);
    g.isa->pack(source, first, count, kFmhaRows, 0, hdim, out);
    return;
  }
  std::uint32_t* const to = static_cast<std::uint32_t*>(out);
  const bool is_whole = together * kFmhaRows == g.q_words;
  for (std::int64_t r = 0; r < kFmhaRows; ++r) {
    std::uint32_t* const words = is_whole ? to + r * together : static_cast<std::uint32_t*>(row);
    if (r < count) {
      const std::int64_t head = kv_head * g.group + (first + r) % g.group, i = (first + r) / g.group;
      const unsigned char* const from = element(args.q, type, x.q + head * s.head + i * s.row);
      pack_fmha_row(*g.isa, g.kind, type, from, hdim, is_whole ? together : g.words, words);
    } else {
      std::memset(words, 0, static_cast<std::size_t>(is_whole ? together : g.words) * 4);
    }
    if (is_whole) continue;
    for (std::int64_t w = 0; w < g.q_words / kFmhaRows; w += together)
      for (std::int64_t i = 0; i < together; ++i)
        to[w * kFmhaRows + r * together + i] = w + i < g.words ? words[w + i] : 0;
  }
}

void find_fmha_rows(const FmhaGeometry& g, const FmhaArgs& args, const FmhaSequence& x, std::int64_t kv_head,
                    std::int64_t first, std::int64_t count, const unsigned char** k, const unsigned char** v) noexcept {
  const DType type = g.signature.b;
  const FmhaStrides &ks = args.k_strides, &vs = args.v_strides;
  const std::int64_t k_row = bytes_of(type, ks.row), v_row = bytes_of(type, vs.row);
  for (std::int64_t j = 0; j < count;) {
    std::int64_t at = first + j, page = 0, run = count - j;
    if (x.pages != nullptr) {
      page = x.pages[at / g.shape.page_size];
      at %= g.shape.page_size;
      run = std::min(run, g.shape.page_size - at);
    }
    const unsigned char* k_at = element(args.k, type, x.k + kv_head * ks.head + page * ks.batch + at * ks.row);
    const unsigned char* v_at = element(args.v, type, x.v + kv_head * vs.head + page * vs.batch + at * vs.row);
    for (const std::int64_t end = j + run; j < end; ++j, k_at += k_row, v_at += v_row) {
      k[j] = k_at;
      v[j] = v_at;
    }
  }
}

void decode_fmha(const FmhaGeometry& g, DType type, const void* base, std::int64_t at, std::int64_t count,
                 float* out) noexcept {
  const PackSource source = make_pack_source(PackKind::f32, type, element(base, type, at), 0, true, false);
  g.isa->pack(source, 0, 1, 1, 0, count, out);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
