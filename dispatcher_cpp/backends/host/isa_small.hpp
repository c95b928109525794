// Kernels of small_m.hpp, compiled once per ISA. Included by the isa_*.cpp files only.
//
// K goes in chunks of 64 elements. A decoder turns a chunk of B into two vectors whose order of K is its own; prepare()
// brings A into that order. Lane l of an accumulator has its share of K for good, so that 16 lanes of one vector or of
// two give the same sums.
#include "backends/host/isa_decode.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr int kChunk = 64;
// How many bytes of a row are on their way, to the second-level cache: the first has too few misses in flight. Where
// several rows are read at a time, the hardware of CPUs without 512 bits sees better what comes.
constexpr int bytes_ahead(int rows_at_once) {
  return CKGEN_HOST_LEVEL >= 4 || rows_at_once == 1 ? 4096 : 0;
}

// ---- rows of B ------------------------------------------------------------------------------------------------------

// A row in steps of STEP elements: what is left at its end is read from a copy filled up with zeros.
template <int BITS, int STEP, int AHEAD = bytes_ahead(1)>
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
    const std::int64_t offset = step * kBytes;
    if constexpr (AHEAD > 0) {
      const std::int64_t ahead = offset + AHEAD;
      const std::uintptr_t base = ahead < bytes_ ? reinterpret_cast<std::uintptr_t>(row_) : jump_;
      for (int i = 0; i < kBytes; i += 64)
        __builtin_prefetch(reinterpret_cast<const void*>(base + static_cast<std::uintptr_t>(ahead + i)), 0, 2);
    }
    return row_ + offset;
  }

 private:
  const unsigned char* row_;
  std::int64_t whole_, bytes_;
  std::uintptr_t jump_;  // to what follows the row
  alignas(64) unsigned char tail_[kBytes];
};

template <int BITS, int STEP, int AHEAD = bytes_ahead(1)>
struct SmallRows {
  using Row = SmallRow<BITS, STEP, AHEAD>;
#if CKGEN_HOST_LEVEL >= 4
  SmallRows(const SmallCall& s) : rows{{s.b[0], s.next[0], s.k}, {s.b[1], s.next[1], s.k}} {}
#else
  SmallRows(const SmallCall& s)
      : rows{{s.b[0], s.next[0], s.k}, {s.b[1], s.next[1], s.k}, {s.b[2], s.next[2], s.k}, {s.b[3], s.next[3], s.k}} {}
#endif
  Row rows[kColumns];
};

constexpr int kStep = 32;  // elements that a decoder to fp32 takes

// sums[j][r] += steps [step, end) of J rows of B and R rows of A.
template <int J, int R, class Decode, class Row>
[[gnu::always_inline]] inline void add_steps(const SmallCall& s, const Decode& decode, const Row* rows,
                                             std::int64_t step, std::int64_t end, F16 (*sums)[R]) {
  constexpr int kDecoded = CKGEN_HOST_LEVEL >= 4 ? J : 1;  // rows of B that are in registers, beside the sums
  const float* a = static_cast<const float*>(s.a);
  F16 sum[J][R];
#pragma GCC unroll 4
  for (int j = 0; j < J; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sum[j][r] = sums[j][r];
  for (; step < end; ++step) {
#pragma GCC unroll 4
    for (int j0 = 0; j0 < J; j0 += kDecoded) {
      F16 x[kDecoded][2];
#pragma GCC unroll 2
      for (int j = 0; j < kDecoded; ++j) decode(rows[j0 + j].at(step), x[j]);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i) {
          const F16 from_a = load_16(a + r * s.a_stride + step * kStep + 16 * i);
#pragma GCC unroll 2
          for (int j = 0; j < kDecoded; ++j) sum[j0 + j][r] = fma_16(from_a, x[j][i], sum[j0 + j][r]);
        }
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < J; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sums[j][r] = sum[j][r];
}

// J rows of B from `first` on, group by group, with all sums in registers.
template <int J, int R, class Decode, class Row>
[[gnu::always_inline]] inline void small_fma_groups(const SmallCall& s, const Decode& decode, const Row* rows,
                                                    int first) {
  const std::int64_t steps = (s.k + kStep - 1) / kStep, per_group = (s.group + kStep - 1) / kStep;
  F16 total[J][R];
#pragma GCC unroll 4
  for (int j = 0; j < J; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) total[j][r] = all_16(0.0F);
  for (std::int64_t step = 0, g = 0; step < steps; step += per_group, ++g) {
    F16 part[J][R];
#pragma GCC unroll 4
    for (int j = 0; j < J; ++j)
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) part[j][r] = all_16(0.0F);
    add_steps<J>(s, decode, rows + first, step, least(step + per_group, steps), part);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const F16 a_scale = all_16(s.a_scale[r * s.scale_stride + g]);
#pragma GCC unroll 4
      for (int j = 0; j < J; ++j)
        total[j][r] = fma_16(mul_16(part[j][r], a_scale), all_16(s.b_scale[first + j][g]), total[j][r]);
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < J; ++j)
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) static_cast<float*>(s.out[first + j])[r * s.ld] = sum_of(total[j][r]);
}

// All of K as one group: rows of B whose sums are not all in registers take turns, and what they share of A stays in
// the first-level cache.
template <int J, int R, class Decode, class Row>
[[gnu::always_inline]] inline void small_fma_in_turns(const SmallCall& s, const Decode& decode, const Row* rows) {
  constexpr std::int64_t kTurn = 8;
  F16 part[kColumns][R];
  for (int j = 0; j < kColumns; ++j)
    for (int r = 0; r < R; ++r) part[j][r] = all_16(0.0F);
  const std::int64_t steps = (s.k + kStep - 1) / kStep;
  for (std::int64_t step = 0; step < steps; step += kTurn)
    for (int j = 0; j < kColumns; j += J) add_steps<J>(s, decode, rows + j, step, least(step + kTurn, steps), part + j);
  for (int j = 0; j < kColumns; ++j)
    for (int r = 0; r < R; ++r) {
      const F16 scaled = mul_16(part[j][r], all_16(s.a_scale[r * s.scale_stride]));
      static_cast<float*>(s.out[j])[r * s.ld] = sum_of(fma_16(scaled, all_16(s.b_scale[j][0]), all_16(0.0F)));
    }
}

template <class Decode, int R>
void small_fma(const SmallCall& s) {
  constexpr int kAtOnce = columns_at_once(R), kOfGroups = kAtOnce == kColumns ? kColumns : 1;
  const Decode decode(s);
  const SmallRows<Decode::kBits, kStep, bytes_ahead(kAtOnce)> b(s);
  if constexpr (kAtOnce < kColumns) {
    if (s.group >= s.k) return small_fma_in_turns<kAtOnce, R>(s, decode, b.rows);
  }
  for (int j = 0; j < kColumns; j += kOfGroups) small_fma_groups<kOfGroups, R>(s, decode, b.rows, j);
}

// One row of each, group by group: no product of a scale is formed that the definition does not form.
template <class Decode>
void small_fma_exact(const SmallCall& s) {
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
// The sums of two rows of A and all rows of B are in registers, or of more rows of A and two of B.
template <int R>
void small_int8(const SmallCall& s) {
  constexpr int kBytes = 16, kAtOnce = R <= 2 ? kColumns : 2;
  const SmallRows<8, kBytes, bytes_ahead(kAtOnce)> b(s);
  const std::int16_t* a = static_cast<const std::int16_t*>(s.a);
  const std::int64_t steps = (s.k + kBytes - 1) / kBytes;
  for (int first = 0; first < kColumns; first += kAtOnce) {
    const auto* rows = b.rows + first;
    __m256i sum[kAtOnce][R];
#pragma GCC unroll 4
    for (int j = 0; j < kAtOnce; ++j)
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) sum[j][r] = _mm256_setzero_si256();
    for (std::int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 4
      for (int j = 0; j < kAtOnce; ++j) {
        const __m256i x = _mm256_cvtepi8_epi16(load_128(rows[j].at(step)));
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
          const __m256i from_a = load_256(reinterpret_cast<const unsigned char*>(a + r * s.a_stride + step * kBytes));
          sum[j][r] = _mm256_add_epi32(sum[j][r], _mm256_madd_epi16(from_a, x));
        }
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < kAtOnce; ++j)
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) static_cast<std::int32_t*>(s.out[first + j])[r * s.ld] = sum_of(sum[j][r]);
  }
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
  return kIsaV4.small(a, b, false);
#else
  (void)dots;
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
#endif
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
