// Rows of K and V as vectors of a level, where they are in memory: what the kernels of isa/fmha_rows.hpp read.
// Compiled once per ISA. Included by the files of levels only.
#pragma once

#include "backends/host/isa/decode.hpp"
#include "backends/host/isa/fmha.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// ---- a vector of fp32 -----------------------------------------------------------------------------------------------

#if CKGEN_HOST_LEVEL >= 4
inline __mmask16 low_bits(int live) {
  return static_cast<__mmask16>((1U << live) - 1U);
}
#else
// The first `live` of eight elements of 16 bits, zeros beyond.
inline __m128i some_halves(const unsigned char* p, int live) {
  std::uint16_t all[8] = {};
  for (int i = 0; i < live; ++i) __builtin_memcpy(&all[i], p + 2 * i, 2);
  return load_128(reinterpret_cast<const unsigned char*>(all));
}
#endif

struct LoadFp32 {
  static constexpr int kBytes = 4;
  static VecF all(const unsigned char* p) { return load_f(reinterpret_cast<const float*>(p)); }
#if CKGEN_HOST_LEVEL >= 4
  static VecF some(const unsigned char* p, int live) { return _mm512_maskz_loadu_ps(low_bits(live), p); }
#else
  static VecF some(const unsigned char* p, int live) {
    const __m256i counted = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_maskload_ps(reinterpret_cast<const float*>(p), _mm256_cmpgt_epi32(_mm256_set1_epi32(live), counted));
  }
#endif
};
struct LoadFp16 {
  static constexpr int kBytes = 2;
#if CKGEN_HOST_LEVEL >= 4
  static VecF all(const unsigned char* p) { return _mm512_cvtph_ps(load_256(p)); }
  static VecF some(const unsigned char* p, int live) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(low_bits(live), p));
  }
#else
  static VecF all(const unsigned char* p) { return _mm256_cvtph_ps(load_128(p)); }
  static VecF some(const unsigned char* p, int live) { return _mm256_cvtph_ps(some_halves(p, live)); }
#endif
};
struct LoadBf16 {
  static constexpr int kBytes = 2;
#if CKGEN_HOST_LEVEL >= 4
  static VecF all(const unsigned char* p) { return from_bf16(load_256(p)); }
  static VecF some(const unsigned char* p, int live) { return from_bf16(_mm256_maskz_loadu_epi16(low_bits(live), p)); }
#else
  static VecF widen(__m128i h) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16)); }
  static VecF all(const unsigned char* p) { return widen(load_128(p)); }
  static VecF some(const unsigned char* p, int live) { return widen(some_halves(p, live)); }
#endif
};

// ---- rows -----------------------------------------------------------------------------------------------------------

// A row of K as chunks of kVectors vectors, and a panel of one word of columns of V as kPanelVecs of them; `live`: as
// many elements, zeros beyond.
template <class Load>
struct RowsOf {
  using Word = WordF32;
  static constexpr int kVectors = 1, kElements = kLanes, kBytes = Load::kBytes;
  explicit RowsOf(const FmhaStep&) {}
  void keys(const unsigned char* p, VecF (&out)[1]) const { out[0] = Load::all(p); }
  void keys(const unsigned char* p, int live, VecF (&out)[1]) const { out[0] = Load::some(p, live); }
  void values(const unsigned char* const* rows, std::int64_t at, VecF (&out)[kPanelVecs]) const {
    for (int i = 0; i < kPanelVecs; ++i) out[i] = Load::all(rows[0] + at + i * kLanes * kBytes);
  }
  void values(const unsigned char* const* rows, std::int64_t at, int live, VecF (&out)[kPanelVecs]) const {
    for (int i = 0; i < kPanelVecs; ++i) {
      const unsigned char* const p = rows[0] + at + i * kLanes * kBytes;
      const int here = live - i * kLanes;
      out[i] = here >= kLanes ? Load::all(p) : here > 0 ? Load::some(p, here) : zero_f();
    }
  }
};

#if CKGEN_HOST_LEVEL >= 5
inline __mmask32 low_halves(int live) {
  return static_cast<__mmask32>((std::uint64_t{1} << live) - 1U);
}

// Where the elements of dimensions 0 .. 15, and those of 16 .. 31, of two columns are: side by side, column by column.
struct PairOrder {
  std::uint16_t low[32] = {}, high[32] = {};
  constexpr PairOrder() {
    for (int i = 0; i < 32; ++i) {
      low[i] = static_cast<std::uint16_t>(i / 2 + i % 2 * 32);
      high[i] = static_cast<std::uint16_t>(low[i] + 16);
    }
  }
};
constexpr PairOrder kPairOrder;

struct RowsOfBf16 {
  using Word = WordBf16;
  static constexpr int kVectors = 1, kElements = 2 * kLanes, kBytes = 2;
  explicit RowsOfBf16(const FmhaStep&) {}
  void keys(const unsigned char* p, VecI (&out)[1]) const { out[0] = _mm512_loadu_si512(p); }
  void keys(const unsigned char* p, int live, VecI (&out)[1]) const {
    out[0] = _mm512_maskz_loadu_epi16(low_halves(live), p);
  }
  void values(const unsigned char* const* rows, std::int64_t at, VecI (&out)[kPanelVecs]) const {
    pair(_mm512_loadu_si512(rows[0] + at), _mm512_loadu_si512(rows[1] + at), out);
  }
  void values(const unsigned char* const* rows, std::int64_t at, int live, VecI (&out)[kPanelVecs]) const {
    if (live >= kFmhaPanel) return values(rows, at, out);
    const __mmask32 some = low_halves(live);
    pair(_mm512_maskz_loadu_epi16(some, rows[0] + at), _mm512_maskz_loadu_epi16(some, rows[1] + at), out);
  }

 private:
  static void pair(VecI a, VecI b, VecI (&out)[kPanelVecs]) {
    out[0] = _mm512_permutex2var_epi16(a, _mm512_loadu_si512(kPairOrder.low), b);
    out[1] = _mm512_permutex2var_epi16(a, _mm512_loadu_si512(kPairOrder.high), b);
  }
};

// Where codes of two columns, which are halves of a register, are to be so that Fp8ToBf16::lanes leaves pairs of them.
struct CodeOrder {
  std::uint8_t at[64] = {};
  constexpr CodeOrder() {
    for (int i = 0; i < 64; ++i)
      at[i] = static_cast<std::uint8_t>(i / 16 * 4 + i / 8 % 2 * 16 + i % 8 / 2 + i % 2 * 32);
  }
};
constexpr CodeOrder kCodeOrder;

// T as Fp8ToBf16 has it.
template <DType T>
struct RowsOfFp8 {
  using Word = WordBf16;
  static constexpr int kVectors = 2, kElements = 4 * kLanes, kBytes = 1;
  explicit RowsOfFp8(const FmhaStep& s) : decode_(s.table16) {}
  void keys(const unsigned char* p, VecI (&out)[2]) const { decode_.run(_mm512_loadu_si512(p), out[0], out[1]); }
  void keys(const unsigned char* p, int live, VecI (&out)[2]) const {
    const __mmask64 some = live >= 64 ? ~__mmask64{0} : (__mmask64{1} << live) - 1;
    decode_.run(_mm512_maskz_loadu_epi8(some, p), out[0], out[1]);
  }
  void values(const unsigned char* const* rows, std::int64_t at, VecI (&out)[kPanelVecs]) const {
    pair(load_256(rows[0] + at), load_256(rows[1] + at), out);
  }
  void values(const unsigned char* const* rows, std::int64_t at, int live, VecI (&out)[kPanelVecs]) const {
    if (live >= kFmhaPanel) return values(rows, at, out);
    const __mmask32 some = low_halves(live);
    pair(_mm256_maskz_loadu_epi8(some, rows[0] + at), _mm256_maskz_loadu_epi8(some, rows[1] + at), out);
  }

 private:
  void pair(__m256i a, __m256i b, VecI (&out)[kPanelVecs]) const {
    const VecI both = _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
    decode_.lanes(_mm512_permutexvar_epi8(_mm512_loadu_si512(kCodeOrder.at), both), out[0], out[1]);
  }
  Fp8ToBf16<T> decode_;
};
#endif

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
