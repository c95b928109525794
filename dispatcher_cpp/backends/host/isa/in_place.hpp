// Few rows of A times B where it lies, compiled once per ISA: what packing and a micro-kernel compute, in their order
// of additions, without a panel of B. Included by the files of levels only.
//
// Sixteen rows of B are read a cache line each, and their words transposed, which stay in the first-level cache. Where
// rows of A fill a vector, they are its lanes instead (isa/in_place_lanes.hpp).
#pragma once

#include "backends/host/isa/decode.hpp"
#include "backends/host/isa/in_place_lanes.hpp"
#include "backends/host/isa/micro.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

#if CKGEN_HOST_LEVEL >= 4
// How far ahead of each row memory is asked for. To the second-level cache: rows a power of two apart share few sets of
// the first one.
constexpr std::uintptr_t kAheadOfLine = 256;

// ---- what the words of B hold -------------------------------------------------------------------------------------
// A decoder turns a vector of words, one of each row, into kSteps operands of add(), in ascending order of K.

struct FmaSum {
  using Operand = VecF;
  static VecF add(VecF sum, const std::uint32_t* a, VecF b) { return fma_f(broadcast_f(bits_to_float(*a)), b, sum); }
};

struct Fp32Words : FmaSum {
  static constexpr int kElements = 1, kSteps = 1;  // of a word
  explicit Fp32Words(const PackSource&) {}
  void operator()(VecI words, VecF (&x)[1]) const { x[0] = _mm512_castsi512_ps(words); }
};

struct Bf16Halves : FmaSum {
  static constexpr int kElements = 2, kSteps = 2;
  explicit Bf16Halves(const PackSource&) {}
  void operator()(VecI words, VecF (&x)[2]) const {
    x[0] = _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
    x[1] = _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32(static_cast<int>(0xffff0000))));
  }
};

struct Fp16Halves : FmaSum {
  static constexpr int kElements = 2, kSteps = 2;
  explicit Fp16Halves(const PackSource&) {}
  void operator()(VecI words, VecF (&x)[2]) const {
    x[0] = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words));
    x[1] = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(words, 16)));
  }
};

#if CKGEN_HOST_LEVEL >= 5
struct DotSum {
  using Operand = VecI;
  static VecF add(VecF sum, const std::uint32_t* a, VecI b) {
    return _mm512_dpbf16_ps(sum, (__m512bh)b, (__m512bh)broadcast_i(static_cast<std::int32_t>(*a)));
  }
};

struct Bf16Words : DotSum {
  static constexpr int kElements = 2, kSteps = 1;
  explicit Bf16Words(const PackSource&) {}
  void operator()(VecI words, VecI (&x)[1]) const { x[0] = words; }
};

// Which bytes of two vectors, of the low and of the high bytes of four codes' bf16 values a word, are its first two
// values, and its last two.
struct PairBytes {
  unsigned char value[2][64] = {};
  constexpr PairBytes() {
    for (int pair = 0; pair < 2; ++pair)
      for (int i = 0; i < 64; ++i)
        value[pair][i] = static_cast<unsigned char>(i / 4 * 4 + 2 * pair + i % 4 / 2 + i % 2 * 64);
  }
};
constexpr PairBytes kPairBytes;

template <DType T>
struct Fp8Pairs : DotSum {
  static constexpr int kElements = 4, kSteps = 2;
  explicit Fp8Pairs(const PackSource& b) : decode(b.table16) {}
  void operator()(VecI words, VecI (&x)[2]) const {
    VecI low, high;
    decode.bytes(words, low, high);
    for (int i = 0; i < 2; ++i) x[i] = _mm512_permutex2var_epi8(low, _mm512_loadu_si512(kPairBytes.value[i]), high);
  }
  Fp8ToBf16<T> decode;
};

template <DType T>
struct Fp8Codes : FmaSum {
  static constexpr int kElements = 4, kSteps = 4;
  explicit Fp8Codes(const PackSource& b) : pairs(b), halves(b) {}
  void operator()(VecI words, VecF (&x)[4]) const {
    VecI pair[2];
    pairs(words, pair);
    VecF first[2], last[2];
    halves(pair[0], first);
    halves(pair[1], last);
    for (int i = 0; i < 2; ++i) {
      x[i] = first[i];
      x[2 + i] = last[i];
    }
  }
  Fp8Pairs<T> pairs;
  Bf16Halves halves;
};
#endif

// ---- the product ----------------------------------------------------------------------------------------------------

// Lines of 16 rows of B; afterwards v[w] is word w of each.
inline void read_lines(const unsigned char* const* rows, std::int64_t at, VecI (&v)[kLineRows]) {
#pragma GCC unroll 16
  for (int i = 0; i < kLineRows; ++i) v[i] = _mm512_loadu_si512(rows[i] + at);
#pragma GCC unroll 16
  for (int i = 0; i < kLineRows; ++i)
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(rows[i] + at) + kAheadOfLine), 0,
                       2);
  transpose16(v);
}
// The same of the first bytes of a line; what is missing is zero.
inline void read_part(const unsigned char* const* rows, std::int64_t at, std::int64_t bytes, VecI (&v)[kLineRows]) {
  const __mmask64 live = (std::uint64_t{1} << bytes) - 1;
#pragma GCC unroll 16
  for (int i = 0; i < kLineRows; ++i) v[i] = _mm512_maskz_loadu_epi8(live, rows[i] + at);
  transpose16(v);
}

// sums[r] += a whole line of a step a word, for R rows of A: too few to hide how long stores and loads of words take.
template <class Decode, int R>
void add_whole(const Decode& decode, const unsigned char* const* rows, std::int64_t at, const std::uint32_t* a,
               std::int64_t mr, VecF* sums) {
  VecI v[kLineRows];
  read_lines(rows, at, v);
  VecF sum[R];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) sum[r] = sums[r];
#pragma GCC unroll 16
  for (int w = 0; w < kLineWords; ++w) {
    typename Decode::Operand x[1];
    decode(v[w], x);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sum[r] = Decode::add(sum[r], a + w * mr + r, x[0]);
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) sums[r] = sum[r];
}

// sum[j][r] += the first `live` steps of word w.
template <class Decode, int R, int NV>
[[gnu::always_inline]] inline void add_word(const Decode& decode, std::int64_t live, const VecI (*words)[kLineWords],
                                            std::int64_t w, const std::uint32_t* a, std::int64_t mr,
                                            VecF (&sum)[NV][R]) {
  typename Decode::Operand x[NV][Decode::kSteps];
#pragma GCC unroll 2
  for (int j = 0; j < NV; ++j) decode(words[j][w], x[j]);
#pragma GCC unroll 4
  for (int s = 0; s < Decode::kSteps; ++s) {
    if (s >= live) break;
#pragma GCC unroll 2
    for (int j = 0; j < NV; ++j)
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) sum[j][r] = Decode::add(sum[j][r], a + (w * Decode::kSteps + s) * mr + r, x[j][s]);
  }
}

// sums[j][row + r] += `steps` steps of the words of a line, for R rows of A and NV blocks of 16 rows of B.
template <class Decode, int R, int NV>
void add_words(const Decode& decode, std::int64_t steps, const VecI (*words)[kLineWords], const std::uint32_t* a,
               std::int64_t mr, std::int64_t row, VecF (*sums)[kInPlaceRows]) {
  VecF sum[NV][R];
#pragma GCC unroll 2
  for (int j = 0; j < NV; ++j)
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sum[j][r] = sums[j][row + r];
  const std::int64_t whole = steps / Decode::kSteps, left = steps % Decode::kSteps;
  for (std::int64_t w = 0; w < whole; ++w) add_word<Decode, R, NV>(decode, Decode::kSteps, words, w, a, mr, sum);
  if (left != 0) add_word<Decode, R, NV>(decode, left, words, whole, a, mr, sum);
#pragma GCC unroll 2
  for (int j = 0; j < NV; ++j)
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sums[j][row + r] = sum[j][r];
}

constexpr std::int64_t kFewRows = 4, kMostRows = 8;  // of A at a time
template <class Decode>
constexpr decltype(&add_whole<Decode, 1>) kAddWhole[kFewRows] = {&add_whole<Decode, 1>, &add_whole<Decode, 2>,
                                                                 &add_whole<Decode, 3>, &add_whole<Decode, 4>};
template <class Decode>
constexpr decltype(&add_words<Decode, 1, 1>) kAddWords[kMostRows] = {
    &add_words<Decode, 1, 1>, &add_words<Decode, 2, 1>, &add_words<Decode, 3, 1>, &add_words<Decode, 4, 1>,
    &add_words<Decode, 5, 1>, &add_words<Decode, 6, 1>, &add_words<Decode, 7, 1>, &add_words<Decode, 8, 1>};
template <class Decode>
constexpr decltype(&add_words<Decode, 1, 1>) kAddTwice[kFewRows] = {&add_words<Decode, 1, 2>, &add_words<Decode, 2, 2>,
                                                                    &add_words<Decode, 3, 2>, &add_words<Decode, 4, 2>};

// The sums of a block of 16 columns of one row: from acc, and to it.
inline VecF first_sum(const InPlaceCall& c, std::int64_t r, std::int64_t n) {
  const bool goes_on = (c.flags & (kAccumulate | kScaled)) == kAccumulate;
  return goes_on ? load_f(c.acc + r * c.ld + n) : zero_f();
}
inline void store_sum(const InPlaceCall& c, std::int64_t r, std::int64_t n, VecF v) {
  float* at = c.acc + r * c.ld + n;
  if (c.flags & kScaled) {
    v = mul_f(mul_f(v, broadcast_f(c.a_scale[r])), load_f(c.b_scale + n));
    if (c.flags & kAccumulate) v = add_f(v, load_f(at));
  }
  store_f(at, v);
}

template <class Decode>
void in_place(const InPlaceCall& c) {
  constexpr std::int64_t kLine = kLineWords * Decode::kElements, kBytes = 4 / Decode::kElements;
  constexpr std::int64_t kPerStep = Decode::kElements / Decode::kSteps;
  constexpr bool kTwice = Decode::kSteps > 2;
#if CKGEN_HOST_LEVEL >= 5
  if constexpr (__is_same(Decode, Bf16Words)) {
    if (fills_lanes(c)) return in_place_lanes(c);
  }
#endif
  const Decode decode(*c.b);
  const bool few = c.rows <= least(c.mr, kFewRows);
  for (std::int64_t n = 0, blocks = 1; n < c.columns; n += blocks * kLineRows) {
    // Steps of a line wait for one another: of few rows and many steps two blocks go at a time.
    blocks = kTwice && few && c.columns - n > kLineRows ? 2 : 1;
    const unsigned char* rows[2 * kLineRows];
    for (std::int64_t i = 0; i < blocks * kLineRows; ++i)  // what is missing is the last one once more
      rows[i] = c.b->base + ((c.n0 + least(n + i, c.columns - 1)) * c.b->ld + c.k0) * kBytes;
    VecF sums[2][kInPlaceRows];
    for (std::int64_t j = 0; j < blocks; ++j)
      for (std::int64_t r = 0; r < c.rows; ++r) sums[j][r] = first_sum(c, r, n + j * kLineRows);
    for (std::int64_t k = 0; k < c.depth; k += kLine) {
      const std::int64_t take = least(kLine, c.depth - k), steps = (take + kPerStep - 1) / kPerStep;
      const std::uint32_t* a = c.a + k / kPerStep * c.mr;
      if constexpr (Decode::kSteps == 1) {
        if (few && take == kLine) {
          kAddWhole<Decode>[c.rows - 1](decode, rows, k* kBytes, a, c.mr, sums[0]);
          continue;
        }
      }
      VecI words[2][kLineWords];
      for (std::int64_t j = 0; j < blocks; ++j) {
        if (take == kLine)
          read_lines(rows + j * kLineRows, k * kBytes, words[j]);
        else
          read_part(rows + j * kLineRows, k * kBytes, take * kBytes, words[j]);
      }
      for (std::int64_t r = 0; r < c.rows;) {
        const std::int64_t of_panel = r % c.mr, some = least(least(c.rows - r, c.mr - of_panel), kMostRows);
        auto add = kAddWords<Decode>[some - 1];
        if constexpr (kTwice) {
          if (blocks == 2) add = kAddTwice<Decode>[some - 1];
        }
        add(decode, steps, words, a + r / c.mr * c.panel_words + of_panel, c.mr, r, sums);
        r += some;
      }
    }
    for (std::int64_t j = 0; j < blocks; ++j)
      for (std::int64_t r = 0; r < c.rows; ++r) store_sum(c, r, n + j * kLineRows, sums[j][r]);
  }
}
#endif

InPlaceFn in_place_kernel([[maybe_unused]] PackKind kind, [[maybe_unused]] DType b) {
#if CKGEN_HOST_LEVEL >= 5
  const bool is_f32 = kind == PackKind::f32;
  switch (b) {
    case DType::fp8_ocp:
    case DType::bf8_ocp: return is_f32 ? &in_place<Fp8Codes<DType::fp8_ocp>> : &in_place<Fp8Pairs<DType::fp8_ocp>>;
    case DType::fp8_fnuz:
    case DType::bf8_fnuz: return is_f32 ? &in_place<Fp8Codes<DType::fp8_fnuz>> : &in_place<Fp8Pairs<DType::fp8_fnuz>>;
    case DType::bf16:
      if (kind == PackKind::bf16) return &in_place<Bf16Words>;
      break;
    default: break;
  }
  return kIsaV4.in_place(kind, b);
#elif CKGEN_HOST_LEVEL >= 4
  if (kind == PackKind::f32) {
    if (b == DType::fp32) return &in_place<Fp32Words>;
    if (b == DType::bf16) return &in_place<Bf16Halves>;
    if (b == DType::fp16) return &in_place<Fp16Halves>;
  }
  return nullptr;
#else
  return nullptr;
#endif
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
