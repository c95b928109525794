#include "backends/host/fmha/gather.hpp"

#include <emmintrin.h>

#include <algorithm>
#include <cstring>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

/// Calls `body(page, row, done, count)` for each page's part of the columns; `page` is the address of the head in it.
template <class Body>
void each_page(const FmhaGeometry& g, const FmhaSequence& x, const void* base, const FmhaStrides& s,
               std::int64_t kv_head, std::int64_t first, std::int64_t count, const Body& body) noexcept {
  const std::int64_t size = g.shape.page_size;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t at = first + done, row = at % size, take = std::min(count - done, size - row);
    const std::int64_t page = kv_head * s.head + x.pages[at / size] * s.batch;
    body(static_cast<const unsigned char*>(base) + bytes_of(g.signature.b, page), row, done, take);
    done += take;
  }
}

void copy_rows(const unsigned char* from, std::int64_t step, std::int64_t count, std::int64_t bytes,
               unsigned char* out) noexcept {
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(out + i * bytes, from + i * step, static_cast<std::size_t>(bytes));
}

template <int kElements>
__m128i mixed(__m128i a, __m128i b, bool high) noexcept {
  if constexpr (kElements == 16) return high ? _mm_unpackhi_epi8(a, b) : _mm_unpacklo_epi8(a, b);
  if constexpr (kElements == 8) return high ? _mm_unpackhi_epi16(a, b) : _mm_unpacklo_epi16(a, b);
  return high ? _mm_unpackhi_epi32(a, b) : _mm_unpacklo_epi32(a, b);
}

/// As many vectors as each has elements: each round turns the index bits of all elements by one.
template <int kElements>
void transpose(__m128i (&x)[kElements]) noexcept {
  for (int round = 1; round < kElements; round *= 2) {
    __m128i next[kElements];
    for (int i = 0; i < kElements / 2; ++i) {
      next[2 * i] = mixed<kElements>(x[i], x[i + kElements / 2], false);
      next[2 * i + 1] = mixed<kElements>(x[i], x[i + kElements / 2], true);
    }
    std::copy_n(next, kElements, x);
  }
}

/// Keys [first, last) of a vector of keys, `from` [hdim][kElements], as rows.
template <int kElements>
void copy_values(const unsigned char* from, std::int64_t hdim, int first, int last, unsigned char* out) noexcept {
  constexpr std::int64_t kBytes = kFmhaVectorBytes / kElements;
  const std::int64_t row_bytes = hdim * kBytes;
  if (hdim < kElements) {
    for (int r = first; r < last; ++r, out += row_bytes)
      for (std::int64_t d = 0; d < hdim; ++d)
        std::memcpy(out + d * kBytes, from + d * kFmhaVectorBytes + r * kBytes, kBytes);
    return;
  }
  for (std::int64_t block = 0; block < hdim; block += kElements) {
    const std::int64_t d = std::min(block, hdim - kElements);  // the last block meets the one before
    __m128i x[kElements];
    for (int i = 0; i < kElements; ++i)
      x[i] = _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from + (d + i) * kFmhaVectorBytes));
    transpose<kElements>(x);
    for (int r = first; r < last; ++r)
      _mm_storeu_si128(reinterpret_cast<__m128i_u*>(out + (r - first) * row_bytes + d * kBytes), x[r]);
  }
}

}  // namespace

void gather_fmha_keys(const FmhaGeometry& g, const FmhaArgs& args, const FmhaSequence& x, std::int64_t kv_head,
                      std::int64_t first, std::int64_t count, unsigned char* out) noexcept {
  const std::int64_t size = g.shape.page_size, bytes = bytes_of(g.signature.b, g.shape.hdim_q);
  const std::int64_t step = bytes_of(g.signature.b, args.k_strides.row);
  const bool vectors = g.signature.fmha.kv_layout == FmhaKvLayout::vectorized;
  each_page(g, x, args.k, args.k_strides, kv_head, first, count,
            [&](const unsigned char* page, std::int64_t row, std::int64_t done, std::int64_t take) {
              unsigned char* const to = out + done * bytes;
              if (!vectors) return copy_rows(page + row * step, step, take, bytes, to);
              const unsigned char* from = page + row * kFmhaVectorBytes;
              for (std::int64_t d = 0; d < bytes; d += kFmhaVectorBytes, from += size * kFmhaVectorBytes)
                for (std::int64_t r = 0; r < take; ++r)
                  std::memcpy(to + r * bytes + d, from + r * kFmhaVectorBytes, kFmhaVectorBytes);
            });
}

void gather_fmha_values(const FmhaGeometry& g, const FmhaArgs& args, const FmhaSequence& x, std::int64_t kv_head,
                        std::int64_t first, std::int64_t count, unsigned char* out) noexcept {
  const std::int64_t hdim = g.shape.hdim_v, bytes = bytes_of(g.signature.b, hdim);
  const std::int64_t step = bytes_of(g.signature.b, args.v_strides.row);
  const std::int64_t vector = kFmhaVectorBytes / bytes_of(g.signature.b, 1);
  const bool vectors = g.signature.fmha.kv_layout == FmhaKvLayout::vectorized;
  const auto copy = vector == 16 ? copy_values<16> : vector == 8 ? copy_values<8> : copy_values<4>;
  each_page(g, x, args.v, args.v_strides, kv_head, first, count,
            [&](const unsigned char* page, std::int64_t row, std::int64_t done, std::int64_t take) {
              unsigned char* to = out + done * bytes;
              if (!vectors) return copy_rows(page + row * step, step, take, bytes, to);
              for (const std::int64_t end = row + take; row < end;) {
                const std::int64_t begin = row % vector, last = std::min(begin + end - row, vector);
                copy(page + row / vector * hdim * kFmhaVectorBytes, hdim, static_cast<int>(begin),
                     static_cast<int>(last), to);
                to += (last - begin) * bytes;
                row += last - begin;
              }
            });
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
