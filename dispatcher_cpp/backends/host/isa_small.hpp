// Kernels of small_m.hpp, compiled once per ISA. Included by the isa_*.cpp files only.
//
// K goes in chunks of 64 elements. A decoder turns a chunk of B into two vectors whose order of K is its own; prepare()
// brings A into that order. Lane l of an accumulator has its share of K for good, so that 16 lanes of one vector or of
// two give the same sums.
#include "backends/host/isa_pack.hpp"

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr int kChunk = 64;
// How many bytes of a row are on their way, to the second-level cache: the first has too few misses in flight.
constexpr int kAhead = 4096;

enum class Order {
  natural,
  blocks,    // per chunk: its even blocks of 8, then its odd ones, as in-lane unpacking leaves bytes
  pairs_64,  // per chunk: its even elements, then its odd ones
  pairs_32,  // the same per half of a chunk
};

constexpr int place(Order order, int i) {
  switch (order) {
    case Order::natural: return i;
    case Order::blocks: return i / 8 % 2 * 32 + i / 16 * 8 + i % 8;
    case Order::pairs_64: return i % 2 * 32 + i / 2;
    case Order::pairs_32: return i / 32 * 32 + i % 2 * 16 + i % 32 / 2;
  }
  return i;
}

// ---- sixteen fp32 lanes -------------------------------------------------------------------------------------------

inline float sum_of(__m256 v) {
  __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  x = _mm_add_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
inline std::int32_t sum_of(__m256i v) {
  __m128i x = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  x = _mm_add_epi32(x, _mm_unpackhi_epi64(x, x));
  return _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32(x, 1)));
}

#if CKGEN_HOST_LEVEL >= 4
constexpr int kColumns = 2;  // rows of B at a time: they share what is read of A
using F16 = __m512;
inline F16 load_16(const float* p) {
  return _mm512_loadu_ps(p);
}
inline F16 all_16(float x) {
  return _mm512_set1_ps(x);
}
inline F16 mul_16(F16 a, F16 b) {
  return _mm512_mul_ps(a, b);
}
inline F16 fma_16(F16 a, F16 b, F16 c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline float sum_of(F16 v) {
  return sum_of(_mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1)));
}
inline F16 from_fp16(__m256i h) {
  return _mm512_cvtph_ps(h);
}
inline F16 from_bf16(__m256i h) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}
#else
constexpr int kColumns = 1;
struct F16 {
  __m256 low, high;
};
inline F16 load_16(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
inline F16 all_16(float x) {
  return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
inline F16 mul_16(F16 a, F16 b) {
  return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}
inline F16 fma_16(F16 a, F16 b, F16 c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
inline float sum_of(F16 v) {
  return sum_of(_mm256_add_ps(v.low, v.high));
}
inline F16 from_fp16(__m256i h) {
  return {_mm256_cvtph_ps(_mm256_castsi256_si128(h)), _mm256_cvtph_ps(_mm256_extracti128_si256(h, 1))};
}
inline F16 from_bf16(__m256i h) {
  const __m256i low = _mm256_cvtepu16_epi32(_mm256_castsi256_si128(h));
  const __m256i high = _mm256_cvtepu16_epi32(_mm256_extracti128_si256(h, 1));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(low, 16)), _mm256_castsi256_ps(_mm256_slli_epi32(high, 16))};
}
#endif

inline __m128i load_128(const unsigned char* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(p));
}
inline __m256i load_256(const unsigned char* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p));
}

// ---- decoders to fp32: 32 elements ----------------------------------------------------------------------------------

struct Fp32ToF32 {
  static constexpr int kBits = 32;
  static constexpr Order kOrder = Order::natural;
  explicit Fp32ToF32(const SmallCall&) {}
  void operator()(const unsigned char* p, F16 (&x)[2]) const {
    for (int i = 0; i < 2; ++i) x[i] = load_16(reinterpret_cast<const float*>(p) + 16 * i);
  }
};

struct Fp16ToF32 {
  static constexpr int kBits = 16;
  static constexpr Order kOrder = Order::natural;
  explicit Fp16ToF32(const SmallCall&) {}
  void operator()(const unsigned char* p, F16 (&x)[2]) const {
    for (int i = 0; i < 2; ++i) x[i] = from_fp16(load_256(p + 32 * i));
  }
};

struct Bf16ToF32 {
  static constexpr int kBits = 16;
  static constexpr Order kOrder = Order::natural;
  explicit Bf16ToF32(const SmallCall&) {}
  void operator()(const unsigned char* p, F16 (&x)[2]) const {
    for (int i = 0; i < 2; ++i) x[i] = from_bf16(load_256(p + 32 * i));
  }
};

// As fp16 with the exponent's bias of fp16, then the difference of the biases; NaN is the one code that fp16 lacks.
template <DType T>
struct Fp8ToF32 {
  static constexpr int kBits = 8;
  static constexpr Order kOrder = Order::natural;
  explicit Fp8ToF32(const SmallCall&) {}
  void operator()(const unsigned char* p, F16 (&x)[2]) const {
    for (int i = 0; i < 2; ++i) x[i] = sixteen(_mm256_cvtepu8_epi16(load_128(p + 16 * i)));
  }
  static F16 sixteen(__m256i codes) {
    const __m256i top = _mm256_slli_epi16(codes, 8);
    if constexpr (T == DType::bf8_ocp) return from_fp16(top);
    const __m256i half = _mm256_and_si256(_mm256_srai_epi16(top, 1), _mm256_set1_epi16(static_cast<short>(0xbf80)));
    const __m256i magnitude = _mm256_set1_epi16(0x3f80);
    const __m256i nan = T == DType::fp8_fnuz ? _mm256_cmpeq_epi16(codes, _mm256_set1_epi16(0x80))
                                             : _mm256_cmpeq_epi16(_mm256_and_si256(half, magnitude), magnitude);
    return mul_16(from_fp16(_mm256_or_si256(half, nan)), all_16(T == DType::fp8_fnuz ? 128.0F : 256.0F));
  }
};

// Any other 8-bit float.
struct CodeToF32 {
  static constexpr int kBits = 8;
  static constexpr Order kOrder = Order::natural;
  explicit CodeToF32(const SmallCall& call) : table(call.table) {}
  void operator()(const unsigned char* p, F16 (&x)[2]) const {
    float values[32];
    for (int i = 0; i < 32; ++i) values[i] = table[p[i]];
    for (int i = 0; i < 2; ++i) x[i] = load_16(values + 16 * i);
  }
  const float* table;
};

struct Fp4Values {
  static constexpr float kOne = 0.5F;  // what an integer of kCodes stands for
  static constexpr signed char kCodes[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
};
struct Int4Values {
  static constexpr float kOne = 1.0F;
  static constexpr signed char kCodes[16] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};
};

template <class Values>
struct Nibbles {
  float fp32[16] = {};
  std::uint16_t bf16[32] = {};  // twice
  constexpr Nibbles() {
    for (int i = 0; i < 32; ++i) {
      fp32[i % 16] = static_cast<float>(Values::kCodes[i % 16]) * Values::kOne;
      bf16[i] = static_cast<std::uint16_t>(__builtin_bit_cast(std::uint32_t, fp32[i % 16]) >> 16);
    }
  }
};
template <class Values>
constexpr Nibbles<Values> kNibbles{};

template <class Values>
struct NibbleToF32 {
  static constexpr int kBits = 4;
  static constexpr Order kOrder = Order::pairs_32;
#if CKGEN_HOST_LEVEL >= 4
  explicit NibbleToF32(const SmallCall&) : table(_mm512_loadu_ps(kNibbles<Values>.fp32)) {}
  void operator()(const unsigned char* p, F16 (&x)[2]) const {
    const __m512i bytes = _mm512_cvtepu8_epi32(load_128(p));
    x[0] = _mm512_permutexvar_ps(bytes, table);  // looks at four bits
    x[1] = _mm512_permutexvar_ps(_mm512_srli_epi32(bytes, 4), table);
  }
  __m512 table;
#else
  explicit NibbleToF32(const SmallCall&) : table(load_128(reinterpret_cast<const unsigned char*>(Values::kCodes))) {}
  void operator()(const unsigned char* p, F16 (&x)[2]) const {
    const __m128i bytes = load_128(p), low = _mm_set1_epi8(15);
    x[0] = sixteen(_mm_and_si128(bytes, low));
    x[1] = sixteen(_mm_and_si128(_mm_srli_epi16(bytes, 4), low));
  }
  F16 sixteen(__m128i codes) const {
    const __m128i v = _mm_shuffle_epi8(table, codes);
    const F16 whole = {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(v)),
                       _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(v, v)))};
    return mul_16(whole, all_16(Values::kOne));
  }
  __m128i table;
#endif
};

// ---- decoders to bf16: 64 elements ----------------------------------------------------------------------------------

#if CKGEN_HOST_LEVEL >= 5
struct Bf16ToBf16 {
  static constexpr int kBits = 16;
  static constexpr Order kOrder = Order::natural;
  explicit Bf16ToBf16(const SmallCall&) {}
  void operator()(const unsigned char* p, __m512i (&x)[2]) const {
    for (int i = 0; i < 2; ++i) x[i] = _mm512_loadu_si512(p + 64 * i);
  }
};

struct EvenBytes {
  unsigned char value[64] = {};
  constexpr EvenBytes() {
    for (int i = 0; i < 64; ++i) value[i] = static_cast<unsigned char>(2 * i);
  }
};
constexpr EvenBytes kEvenBytes;

// T = fp8_ocp stands for both formats with a negative zero, fp8_fnuz for those without. Both bytes of the 128
// magnitudes' values are in registers; the sign is the code's.
template <DType T>
struct Fp8ToBf16 {
  static constexpr int kBits = 8;
  static constexpr Order kOrder = Order::blocks;
  explicit Fp8ToBf16(const SmallCall& call) {
    const __m512i low = _mm512_loadu_si512(kEvenBytes.value);
    const __m512i high = _mm512_add_epi8(low, _mm512_set1_epi8(1));
    for (int i = 0; i < 2; ++i) {
      const __m512i first = _mm512_loadu_si512(call.table16 + 64 * i),
                    last = _mm512_loadu_si512(call.table16 + 64 * i + 32);
      part[0][i] = _mm512_permutex2var_epi8(first, low, last);
      part[1][i] = _mm512_permutex2var_epi8(first, high, last);
    }
  }
  void operator()(const unsigned char* p, __m512i (&x)[2]) const {
    const __m512i codes = _mm512_loadu_si512(p), sign = _mm512_set1_epi8(static_cast<char>(0x80));
    __m512i low = _mm512_permutex2var_epi8(part[0][0], codes, part[0][1]);  // looks at seven bits
    __m512i high = _mm512_permutex2var_epi8(part[1][0], codes, part[1][1]);
    if constexpr (T == DType::fp8_fnuz) {  // what would be -0 is NaN
      const __mmask64 nan = _mm512_cmpeq_epi8_mask(codes, sign);
      low = _mm512_mask_mov_epi8(low, nan, _mm512_set1_epi8(static_cast<char>(0xc0)));
      high = _mm512_mask_mov_epi8(high, nan, _mm512_set1_epi8(0x7f));
    }
    high = _mm512_ternarylogic_epi32(high, codes, sign, 0xf8);  // high | (codes & sign)
    x[0] = _mm512_unpacklo_epi8(low, high);
    x[1] = _mm512_unpackhi_epi8(low, high);
  }
  __m512i part[2][2];
};

template <class Values>
struct NibbleToBf16 {
  static constexpr int kBits = 4;
  static constexpr Order kOrder = Order::pairs_64;
  explicit NibbleToBf16(const SmallCall&) : table(_mm512_loadu_si512(kNibbles<Values>.bf16)) {}
  void operator()(const unsigned char* p, __m512i (&x)[2]) const {
    const __m512i bytes = _mm512_cvtepu8_epi16(load_256(p));
    x[0] = _mm512_permutexvar_epi16(bytes, table);  // looks at five bits; the table is there twice
    x[1] = _mm512_permutexvar_epi16(_mm512_srli_epi16(bytes, 4), table);
  }
  __m512i table;
};
#endif

// ---- rows of B ------------------------------------------------------------------------------------------------------

// A row in steps of STEP elements: what is left at its end is read from a copy filled up with zeros.
template <int BITS, int STEP>
class SmallRow {
 public:
  static constexpr int kBytes = STEP * BITS / 8;
  SmallRow(const unsigned char* row, const unsigned char* next, std::int64_t k)
      : row_(row), whole_(k / STEP), bytes_((k * BITS + 7) / 8) {
    jump_ = reinterpret_cast<std::uintptr_t>(next) - static_cast<std::uintptr_t>(bytes_);
    const std::int64_t left = k % STEP;
    if (left == 0) return;
    __builtin_memset(tail_, 0, sizeof tail_);
    __builtin_memcpy(tail_, row + whole_ * kBytes, static_cast<std::size_t>((left * BITS + 7) / 8));
    if (BITS == 4 && left % 2 != 0) tail_[left / 2] &= 0x0f;
  }
  const unsigned char* at(std::int64_t step) const {
    if (step >= whole_) return tail_;
    const std::int64_t offset = step * kBytes, ahead = offset + kAhead;
    const std::uintptr_t base = ahead < bytes_ ? reinterpret_cast<std::uintptr_t>(row_) : jump_;
    for (int i = 0; i < kBytes; i += 64)
      __builtin_prefetch(reinterpret_cast<const void*>(base + static_cast<std::uintptr_t>(ahead + i)), 0, 2);
    return row_ + offset;
  }

 private:
  const unsigned char* row_;
  std::int64_t whole_, bytes_;
  std::uintptr_t jump_;  // to what follows the row
  alignas(64) unsigned char tail_[kBytes];
};

template <int BITS, int STEP>
struct SmallRows {
  SmallRows(const SmallCall& s) : rows{{s.b[0], s.next[0], s.k}, {s.b[1], s.next[1], s.k}} {}
  SmallRow<BITS, STEP> rows[2];
};

template <class Decode, int R>
void small_fma(const SmallCall& s) {
  constexpr int kStep = 32;
  const Decode decode(s);
  const SmallRows<Decode::kBits, kStep> b(s);
  const float* a = static_cast<const float*>(s.a);
  const std::int64_t steps = (s.k + kStep - 1) / kStep, per_group = (s.group + kStep - 1) / kStep;
  F16 total[kColumns][R];
#pragma GCC unroll 2
  for (int j = 0; j < kColumns; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) total[j][r] = all_16(0.0F);
  for (std::int64_t step = 0, g = 0; step < steps; ++g) {
    F16 part[kColumns][R];
#pragma GCC unroll 2
    for (int j = 0; j < kColumns; ++j)
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) part[j][r] = all_16(0.0F);
    for (const std::int64_t end = least(step + per_group, steps); step < end; ++step) {
      F16 x[kColumns][2];
#pragma GCC unroll 2
      for (int j = 0; j < kColumns; ++j) decode(b.rows[j].at(step), x[j]);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i) {
          const F16 from_a = load_16(a + r * s.a_stride + step * kStep + 16 * i);
#pragma GCC unroll 2
          for (int j = 0; j < kColumns; ++j) part[j][r] = fma_16(from_a, x[j][i], part[j][r]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const F16 a_scale = all_16(s.a_scale[r * s.scale_stride + g]);
#pragma GCC unroll 2
      for (int j = 0; j < kColumns; ++j)
        total[j][r] = fma_16(mul_16(part[j][r], a_scale), all_16(s.b_scale[j][g]), total[j][r]);
    }
  }
#pragma GCC unroll 2
  for (int j = 0; j < kColumns; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) static_cast<float*>(s.out[j])[r * s.ld] = sum_of(total[j][r]);
}

// One row of each, group by group: no product of a scale is formed that the definition does not form.
template <class Decode>
void small_fma_exact(const SmallCall& s) {
  constexpr int kStep = 32;
  const Decode decode(s);
  const SmallRow<Decode::kBits, kStep> b(s.b[0], s.next[0], s.k);
  const float* a = static_cast<const float*>(s.a);
  const std::int64_t steps = (s.k + kStep - 1) / kStep, per_group = (s.group + kStep - 1) / kStep;
  float total = 0.0F;
  for (std::int64_t step = 0, g = 0; step < steps; ++g) {
    F16 part = all_16(0.0F), x[2];
    for (const std::int64_t end = least(step + per_group, steps); step < end; ++step) {
      decode(b.at(step), x);
      for (int i = 0; i < 2; ++i) part = fma_16(load_16(a + step * kStep + 16 * i), x[i], part);
    }
    total += (sum_of(part) * s.a_scale[g]) * s.b_scale[0][g];
  }
  static_cast<float*>(s.out[0])[0] = total;
}

#if CKGEN_HOST_LEVEL >= 5
inline __m512 dot(__m512 c, __m512i a, __m512i b) {
  return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
}

// The scales of a chunk's two groups, eight lanes each.
inline __m512 halves(const float* scale) {
  return _mm512_mask_mov_ps(_mm512_set1_ps(scale[0]), 0xff00, _mm512_set1_ps(scale[1]));
}

template <class Decode, int R, bool MX>
void small_dot(const SmallCall& s) {
  const Decode decode(s);
  const SmallRows<Decode::kBits, kChunk> b(s);
  const unsigned char* a = static_cast<const unsigned char*>(s.a);
  const std::int64_t chunks = (s.k + kChunk - 1) / kChunk, per_group = MX ? 1 : (s.group + kChunk - 1) / kChunk;
  __m512 total[2][R];
#pragma GCC unroll 2
  for (int j = 0; j < 2; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) total[j][r] = _mm512_setzero_ps();
  for (std::int64_t chunk = 0, g = 0; chunk < chunks; ++g) {
    __m512 part[2][R];
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j)
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) part[j][r] = _mm512_setzero_ps();
    for (const std::int64_t end = MX ? chunk + 1 : least(chunk + per_group, chunks); chunk < end; ++chunk) {
      __m512i x[2][2];
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j) decode(b.rows[j].at(chunk), x[j]);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i) {
          const __m512i from_a = _mm512_loadu_si512(a + 2 * (r * s.a_stride + chunk * kChunk + 32 * i));
#pragma GCC unroll 2
          for (int j = 0; j < 2; ++j) part[j][r] = dot(part[j][r], from_a, x[j][i]);
        }
    }
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      const __m512 b_scale = MX ? halves(s.b_scale[j] + 2 * g) : _mm512_set1_ps(s.b_scale[j][g]);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        // Scales of mx are in the panel's values already.
        const __m512 scaled = MX ? part[j][r] : mul_16(part[j][r], all_16(s.a_scale[r * s.scale_stride + g]));
        total[j][r] = fma_16(scaled, b_scale, total[j][r]);
      }
    }
  }
#pragma GCC unroll 2
  for (int j = 0; j < 2; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) static_cast<float*>(s.out[j])[r * s.ld] = sum_of(total[j][r]);
}

template <class Decode>
void small_dot_exact(const SmallCall& s) {
  const Decode decode(s);
  const SmallRow<Decode::kBits, kChunk> b(s.b[0], s.next[0], s.k);
  const unsigned char* a = static_cast<const unsigned char*>(s.a);
  const std::int64_t chunks = (s.k + kChunk - 1) / kChunk;
  const std::int64_t per_group = (s.group + kChunk - 1) / kChunk, per_chunk = s.group < kChunk ? 2 : 1;
  float total = 0.0F;
  for (std::int64_t chunk = 0, g = 0; chunk < chunks; g += per_chunk) {
    __m512 part = _mm512_setzero_ps();
    __m512i x[2];
    for (const std::int64_t end = least(chunk + per_group, chunks); chunk < end; ++chunk) {
      decode(b.at(chunk), x);
      for (int i = 0; i < 2; ++i) part = dot(part, _mm512_loadu_si512(a + 2 * (chunk * kChunk + 32 * i)), x[i]);
    }
    if (per_chunk == 1) {
      total += (sum_of(part) * s.a_scale[g]) * s.b_scale[0][g];
      continue;
    }
    total += (sum_of(_mm512_castps512_ps256(part)) * s.a_scale[g]) * s.b_scale[0][g];
    if (chunk * kChunk - 32 < s.k)
      total += (sum_of(_mm512_extractf32x8_ps(part, 1)) * s.a_scale[g + 1]) * s.b_scale[0][g + 1];
  }
  static_cast<float*>(s.out[0])[0] = total;
}
#endif

// ---- int8 -----------------------------------------------------------------------------------------------------------

#if CKGEN_HOST_LEVEL >= 5
// A has 128 added, for the instruction multiplies unsigned with signed; 128 times the sum of B is taken off again.
template <int R>
void small_int8(const SmallCall& s) {
  const SmallRows<8, kChunk> b(s);
  const unsigned char* a = static_cast<const unsigned char*>(s.a);
  const std::int64_t chunks = (s.k + kChunk - 1) / kChunk;
  const __m512i offset = _mm512_set1_epi8(static_cast<char>(0x80));
  __m512i sum[2][R], excess[2];
#pragma GCC unroll 2
  for (int j = 0; j < 2; ++j) {
    excess[j] = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sum[j][r] = _mm512_setzero_si512();
  }
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    __m512i x[2];
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      x[j] = _mm512_loadu_si512(b.rows[j].at(chunk));
      excess[j] = _mm512_dpbusd_epi32(excess[j], offset, x[j]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const __m512i from_a = _mm512_loadu_si512(a + r * s.a_stride + chunk * kChunk);
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j) sum[j][r] = _mm512_dpbusd_epi32(sum[j][r], from_a, x[j]);
    }
  }
#pragma GCC unroll 2
  for (int j = 0; j < 2; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const __m512i v = _mm512_sub_epi32(sum[j][r], excess[j]);
      static_cast<std::int32_t*>(s.out[j])[r * s.ld] =
          sum_of(_mm256_add_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1)));
    }
}
#else
template <int R>
void small_int8(const SmallCall& s) {
  constexpr int kStep = 16;
  const SmallRows<8, kStep> b(s);
  const std::int16_t* a = static_cast<const std::int16_t*>(s.a);
  const std::int64_t steps = (s.k + kStep - 1) / kStep;
  __m256i sum[kColumns][R];
#pragma GCC unroll 2
  for (int j = 0; j < kColumns; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sum[j][r] = _mm256_setzero_si256();
  for (std::int64_t step = 0; step < steps; ++step) {
    __m256i x[kColumns];
#pragma GCC unroll 2
    for (int j = 0; j < kColumns; ++j) x[j] = _mm256_cvtepi8_epi16(load_128(b.rows[j].at(step)));
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const __m256i from_a = load_256(reinterpret_cast<const unsigned char*>(a + r * s.a_stride + step * kStep));
#pragma GCC unroll 2
      for (int j = 0; j < kColumns; ++j) sum[j][r] = _mm256_add_epi32(sum[j][r], _mm256_madd_epi16(from_a, x[j]));
    }
  }
#pragma GCC unroll 2
  for (int j = 0; j < kColumns; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) static_cast<std::int32_t*>(s.out[j])[r * s.ld] = sum_of(sum[j][r]);
}
#endif

// ---- rows of A ------------------------------------------------------------------------------------------------------

constexpr int kPiece = 8 * kChunk;

// `put` stores a piece of `n` values (whole chunks, zeros beyond K) that starts at element k.
template <class Put>
void small_values(const PackSource& a, std::int64_t row, std::int64_t k, const float* scale, SmallExtremes* seen,
                  Put&& put) {
  alignas(64) float values[kPiece];
  float least_seen = seen->least, most_seen = seen->most;
  for (std::int64_t k0 = 0; k0 < k; k0 += kPiece) {
    const std::int64_t take = least(kPiece, k - k0), padded = (take + kChunk - 1) / kChunk * kChunk;
    pack(a, row, 1, 1, k0, take, values);
    for (std::int64_t i = take; i < padded; ++i) values[i] = 0.0F;
    if (scale != nullptr) {
      for (std::int64_t i = 0; i < take; ++i) {
        const float v = values[i] * scale[(k0 + i) / 32], size = v < 0.0F ? -v : v;
        most_seen = size <= most_seen ? most_seen : size;  // NaN stays
        least_seen = values[i] != 0.0F && !(size >= least_seen) ? size : least_seen;
        values[i] = v;
      }
    }
    put(k0, values, padded);
  }
  seen->least = least_seen;
  seen->most = most_seen;
}

template <Order ORDER>
void small_prepare_f32(const PackSource& a, std::int64_t row, std::int64_t k, const float* scale, SmallExtremes* seen,
                       void* out) {
  small_values(a, row, k, scale, seen, [out](std::int64_t k0, const float* values, std::int64_t n) {
    float* to = static_cast<float*>(out) + k0;
    for (std::int64_t c = 0; c < n; c += kChunk)
      for (int i = 0; i < kChunk; ++i) to[c + place(ORDER, i)] = values[c + i];
  });
}

#if CKGEN_HOST_LEVEL >= 5
// What comes here is exact as bf16.
template <Order ORDER>
void small_prepare_bf16(const PackSource& a, std::int64_t row, std::int64_t k, const float* scale, SmallExtremes* seen,
                        void* out) {
  small_values(a, row, k, scale, seen, [out](std::int64_t k0, const float* values, std::int64_t n) {
    std::uint16_t* to = static_cast<std::uint16_t*>(out) + k0;
    for (std::int64_t c = 0; c < n; c += kChunk)
      for (int i = 0; i < kChunk; ++i)
        to[c + place(ORDER, i)] = static_cast<std::uint16_t>(float_to_bits(values[c + i]) >> 16);
  });
}
#endif

void small_prepare_int8(const PackSource& a, std::int64_t row, std::int64_t k, const float*, SmallExtremes*,
                        void* out) {
  alignas(64) std::int16_t values[kPiece];
  for (std::int64_t k0 = 0; k0 < k; k0 += kPiece) {
    const std::int64_t take = least(kPiece, k - k0), padded = (take + kChunk - 1) / kChunk * kChunk;
    pack(a, row, 1, 1, k0, take, values);
    for (std::int64_t i = take; i < padded; ++i) values[i] = 0;
#if CKGEN_HOST_LEVEL >= 5
    unsigned char* to = static_cast<unsigned char*>(out) + k0;
    for (std::int64_t i = 0; i < padded; ++i) to[i] = static_cast<unsigned char>(values[i] + 128);
#else
    std::int16_t* to = static_cast<std::int16_t*>(out) + k0;
    for (std::int64_t i = 0; i < padded; ++i) to[i] = values[i];
#endif
  }
}

// ---- scales of K groups ---------------------------------------------------------------------------------------------

float small_e8m0(const unsigned char* __restrict codes, std::int64_t n, float* __restrict out) {
  std::uint32_t most = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t code = codes[i], nan = code == 0xff ? 0x00400000U : 0;
    std::uint32_t value = code << 23 | nan;
    value = value > 0x00400000U ? value : 0x00400000U;  // code 0 is 2^-127
    most = value > most ? value : most;
    __builtin_memcpy(out + i, &value, 4);
  }
  return bits_to_float(most);
}

float small_most(const float* values, std::int64_t n) {
  std::uint32_t most = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t size = float_to_bits(values[i]) & 0x7fffffffU;  // NaN is beyond infinity
    most = size > most ? size : most;
  }
  return bits_to_float(most);
}

// ---- which ----------------------------------------------------------------------------------------------------------

template <class Decode>
constexpr SmallKernels kSmallFma = {
    {&small_fma<Decode, 1>, &small_fma<Decode, 2>, &small_fma<Decode, 3>, &small_fma<Decode, 4>},
    {&small_fma<Decode, 1>, &small_fma<Decode, 2>, &small_fma<Decode, 3>, &small_fma<Decode, 4>},
    &small_fma_exact<Decode>,
    &small_prepare_f32<Decode::kOrder>,
    kColumns,
    4,
    Decode::kBits};

constexpr SmallKernels kSmallInt8 = {{&small_int8<1>, &small_int8<2>, &small_int8<3>, &small_int8<4>},
                                     {},
                                     nullptr,
                                     &small_prepare_int8,
                                     kColumns,
                                     CKGEN_HOST_LEVEL >= 5 ? 1 : 2,
                                     8};

#if CKGEN_HOST_LEVEL >= 5
template <class Decode>
constexpr SmallKernels kSmallDot = {{&small_dot<Decode, 1, false>, &small_dot<Decode, 2, false>,
                                     &small_dot<Decode, 3, false>, &small_dot<Decode, 4, false>},
                                    {&small_dot<Decode, 1, true>, &small_dot<Decode, 2, true>,
                                     &small_dot<Decode, 3, true>, &small_dot<Decode, 4, true>},
                                    &small_dot_exact<Decode>,
                                    &small_prepare_bf16<Decode::kOrder>,
                                    2,
                                    2,
                                    Decode::kBits};
#endif

const SmallKernels* small_kernels(DType a, DType b, bool dots) {
  if (a == DType::int8) return b == DType::int8 ? &kSmallInt8 : nullptr;
#if CKGEN_HOST_LEVEL >= 5
  if (dots && a != DType::fp32 && a != DType::fp16) {
    switch (b) {
      case DType::bf16: return &kSmallDot<Bf16ToBf16>;
      case DType::fp4: return &kSmallDot<NibbleToBf16<Fp4Values>>;
      case DType::int4: return &kSmallDot<NibbleToBf16<Int4Values>>;
      case DType::fp8_ocp:
      case DType::bf8_ocp: return &kSmallDot<Fp8ToBf16<DType::fp8_ocp>>;
      case DType::fp8_fnuz:
      case DType::bf8_fnuz: return &kSmallDot<Fp8ToBf16<DType::fp8_fnuz>>;
      default: break;
    }
  }
#else
  (void)dots;
#endif
  switch (b) {
    case DType::fp32: return &kSmallFma<Fp32ToF32>;
    case DType::fp16: return &kSmallFma<Fp16ToF32>;
    case DType::bf16: return &kSmallFma<Bf16ToF32>;
    case DType::fp4: return &kSmallFma<NibbleToF32<Fp4Values>>;
    case DType::int4: return &kSmallFma<NibbleToF32<Int4Values>>;
    case DType::fp8_ocp: return &kSmallFma<Fp8ToF32<DType::fp8_ocp>>;
    case DType::fp8_fnuz: return &kSmallFma<Fp8ToF32<DType::fp8_fnuz>>;
    case DType::bf8_ocp: return &kSmallFma<Fp8ToF32<DType::bf8_ocp>>;
    case DType::bf8_fnuz: return &kSmallFma<CodeToF32>;
    default: return nullptr;
  }
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
