// Packing (decode, combine and transpose into panels), compiled once per ISA.
// Included by the files of levels only. Everything is in an unnamed namespace for the reason isa/table.hpp gives.
#pragma once

#include "backends/host/isa/decode_run.hpp"
#include "backends/host/isa/pack_blocks.hpp"
#include "backends/host/isa/pack_bytes.hpp"
#include "backends/host/isa/pack_codes.hpp"
#include "backends/host/isa/pack_lines.hpp"
#include "backends/host/isa/prepacked.hpp"
#include "backends/host/isa/table.hpp"
#include "backends/host/isa/transpose.hpp"

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// Consecutive k of row p lie in memory in runs: one, or one per 16-byte chunk of a preshuffled B.
template <typename F>
inline void each_run(const PackSource& s, int chunk, std::int64_t p, std::int64_t k, std::int64_t n, F&& f) {
  const std::int64_t run = s.preshuffled ? chunk : n;
  for (std::int64_t done = 0, in_run = s.preshuffled ? k % chunk : 0; done < n; in_run = 0) {
    const std::int64_t take = least(run - in_run, n - done);
    const std::int64_t first = k + done - in_run;
    const std::int64_t at = s.preshuffled ? (p / 16) * 16 * s.ld + (p % 16) * chunk + first * 16 : p * s.ld + first;
    f(at + in_run, done, take);
    done += take;
  }
}

template <DType T>
constexpr int chunk_elements() {
  return T == DType::fp4 ? 32 : T == DType::fp32 ? 4 : (T == DType::bf16 || T == DType::fp16) ? 8 : 16;
}

// Panels walk memory in strides that the hardware does not foresee. Only a hint, so the end of the operand is no
// concern.
template <DType T>
inline void prefetch_run(const PackSource& s, std::int64_t at, std::int64_t n) {
  const std::uintptr_t first =
      reinterpret_cast<std::uintptr_t>(s.base) + static_cast<std::uintptr_t>(at * storage_bits(T) / 8);
  const std::uintptr_t bytes = static_cast<std::uintptr_t>(n * storage_bits(T) / 8);
  for (std::uintptr_t i = 0; i < bytes; i += 64) __builtin_prefetch(reinterpret_cast<const void*>(first + i));
}

// `n` elements of row p from k as words; the row's words up to the next whole word are written.
template <DType T, PackKind KIND>
inline void decode_words([[maybe_unused]] const Decoder<T>& decoder, const PackSource& s, std::int64_t p,
                         std::int64_t k, std::int64_t n, std::uint32_t* row) {
  constexpr int chunk = chunk_elements<T>();
  if constexpr (KIND == PackKind::f32) {
    each_run(s, chunk, p, k, n, [&](std::int64_t at, std::int64_t offset, std::int64_t length) {
      decode_operand<T>(decoder, s, at, length, reinterpret_cast<float*>(row) + offset);
    });
  } else if constexpr (KIND == PackKind::i16) {
    std::int16_t wide[2 * kRowWords];
    if (n & 1) wide[n] = 0;
    each_run(s, chunk, p, k, n, [&](std::int64_t at, std::int64_t offset, std::int64_t length) {
      const unsigned char* in = s.base + at;
      std::int64_t i = 0;
      for (; i + 16 <= length; i += 16) {
        __m128i v;
        __builtin_memcpy(&v, in + i, 16);
        const __m256i w = _mm256_cvtepi8_epi16(v);
        __builtin_memcpy(wide + offset + i, &w, 32);
      }
      for (; i < length; ++i, one_by_one()) wide[offset + i] = static_cast<signed char>(in[i]);
    });
    copy_run(row, wide, (n + 1) / 2 * 4);
  } else if constexpr (KIND == PackKind::i8) {
    if (n % 4 != 0) row[n / 4] = 0;
    each_run(s, chunk, p, k, n, [&](std::int64_t at, std::int64_t offset, std::int64_t length) {
      copy_run(reinterpret_cast<unsigned char*>(row) + offset, s.base + at, length);
    });
    const std::uint32_t added = added_to_bytes(s);
    for (std::int64_t w = 0; w < (n + 3) / 4; ++w) row[w] ^= added;
  } else if constexpr (T == DType::bf16) {
    if (n & 1) row[n / 2] = 0;
    each_run(s, chunk, p, k, n, [&](std::int64_t at, std::int64_t offset, std::int64_t length) {
      copy_run(reinterpret_cast<unsigned char*>(row) + offset * 2, s.base + at * 2, length * 2);
    });
  } else {  // fp4 as bf16
    std::uint16_t half[2 * kRowWords];
    if (n & 1) half[n] = 0;
    each_run(s, chunk, p, k, n, [&](std::int64_t at, std::int64_t offset, std::int64_t length) {
      decoder.to_bf16(at, length, half + offset);
    });
    copy_run(row, half, (n + 1) / 2 * 4);
  }
}

// The same, not in line: it is much code, and called for many elements.
template <DType T, PackKind KIND>
[[gnu::noinline]] void decode_apart(const PackSource& s, std::int64_t p, std::int64_t k, std::int64_t n,
                                    std::uint32_t* row) {
  decode_words<T, KIND>(Decoder<T>(s), s, p, k, n, row);
}

template <DType T, PackKind KIND>
void pack_k_contiguous(const PackSource& s, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                       std::int64_t length, std::uint32_t* panel) {
  constexpr int e = elements_per_word(KIND);
  const auto row_of = [&s, p0](std::int64_t r) { return s.rows == nullptr ? p0 + r : std::int64_t{s.rows[p0 + r]}; };
  if (width == 1) {  // a panel of one row is the row itself
    const std::int64_t piece = KIND == PackKind::f32 && s.op == OperandOp::none ? length : kRowWords * e;
    for (std::int64_t k = 0; k < length; k += piece)
      decode_apart<T, KIND>(s, row_of(0), k0 + k, least(piece, length - k), panel + k / e);
    return;
  }
#if CKGEN_HOST_LEVEL >= 4
  if constexpr (packs_lines<T, KIND>()) {
    if (!s.preshuffled && s.op == OperandOp::none) return pack_lines<T, KIND>(s, p0, count, width, k0, length, panel);
  }
#else
  if constexpr (packs_in_registers<T, KIND>()) {
    if (!s.preshuffled && s.op == OperandOp::none) return pack_blocks<T, KIND>(s, p0, count, width, k0, length, panel);
  }
#endif
  [[maybe_unused]] const Decoder<T> decoder(s);
  alignas(64) std::uint32_t rows[kMaxWidth][kRowWords];
  for (std::int64_t r = count; r < (width + 7) / 8 * 8; ++r) __builtin_memset(rows[r], 0, sizeof rows[r]);
  for (std::int64_t k = 0; k < length; k += kRowWords * e) {
    const std::int64_t take = least(kRowWords * e, length - k);
    const int words = static_cast<int>((take + e - 1) / e);
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t p = row_of(r);
      if constexpr (T == DType::fp8_ocp || (T == DType::fp4 && KIND == PackKind::bf16))
        decode_words<T, KIND>(decoder, s, p, k0 + k, take, rows[r]);
      else
        decode_apart<T, KIND>(s, p, k0 + k, take, rows[r]);
      if (!s.preshuffled) prefetch_run<T>(s, p * s.ld + k0 + k + take, kRowWords * e);
      for (int w = words; w % 8 != 0; ++w, one_by_one()) rows[r][w] = 0;
    }
    transpose(rows, width, words, panel + k / e * width);
  }
}

template <DType T, PackKind KIND>
void pack_p_contiguous(const PackSource& s, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                       std::int64_t length, std::uint32_t* __restrict panel) {
  constexpr int e = elements_per_word(KIND), kRowsAhead = 16;
  [[maybe_unused]] const Decoder<T> decoder(s);
  for (std::int64_t k = 0; k < length;) {
    const std::int64_t at = (k0 + k) * s.ld + p0;
    for (int ahead = 0; ahead < e; ++ahead) prefetch_run<T>(s, at + (kRowsAhead + ahead) * s.ld, count);
    if constexpr (KIND == PackKind::f32) {
      decode_operand<T>(decoder, s, at, count, reinterpret_cast<float*>(panel));
      for (std::int64_t i = count; i < width; ++i, one_by_one()) panel[i] = 0;
    } else if constexpr (KIND == PackKind::i8) {
      join_bytes(s, s.base + at, least(4, length - k), count, width, panel);
    } else {
      const bool both = k + 1 < length;
      const std::int64_t next = both ? at + s.ld : at;
      const std::uint32_t keep = both ? 0xffff0000u : 0u;
      if constexpr (KIND == PackKind::i16) {
        const unsigned char *low = s.base + at, *high = s.base + next;
        for (std::int64_t i = 0; i < count; ++i) {
          const std::uint32_t l = static_cast<std::uint16_t>(static_cast<signed char>(low[i]));
          const std::uint32_t h = static_cast<std::uint32_t>(static_cast<signed char>(high[i])) << 16;
          panel[i] = l | (h & keep);
        }
      } else {
        const unsigned char *low = s.base + at * 2, *high = s.base + next * 2;
        for (std::int64_t i = 0; i < count; ++i)
          panel[i] = load_u16(low + i * 2) | ((static_cast<std::uint32_t>(load_u16(high + i * 2)) << 16) & keep);
      }
      for (std::int64_t i = count; i < width; ++i, one_by_one()) panel[i] = 0;
    }
    k += e;
    panel += width;
  }
}

template <DType T, PackKind KIND>
inline void pack_as(const PackSource& s, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                    std::int64_t length, void* panel) {
  std::uint32_t* out = static_cast<std::uint32_t*>(panel);
  if constexpr (T == DType::int8 || has_second(T)) {
    if (s.prepacked) return pack_prepacked<T, KIND>(s, p0, count, width, k0, length, out);
  }
  if (s.k_contiguous)
    pack_k_contiguous<T, KIND>(s, p0, count, width, k0, length, out);
  else
    pack_p_contiguous<T, KIND>(s, p0, count, width, k0, length, out);
}

inline void pack(const PackSource& s, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                 std::int64_t length, void* panel) {
#if CKGEN_HOST_LEVEL != 4
  if (s.kind == PackKind::i8) return pack_as<DType::int8, PackKind::i8>(s, p0, count, width, k0, length, panel);
#endif
#if CKGEN_HOST_LEVEL >= 5
  if (s.kind != PackKind::bf16) return kIsaV4.pack(s, p0, count, width, k0, length, panel);
  auto* out = static_cast<std::uint32_t*>(panel);
  if (s.type == DType::bf16) return pack_as<DType::bf16, PackKind::bf16>(s, p0, count, width, k0, length, panel);
  if (s.type == DType::fp4 && width > 1 && are_whole_bytes(s, k0, length))
    return pack_nibbles(s, p0, count, width, k0, length, out);
  if (s.type == DType::fp4) return pack_k_contiguous<DType::fp4, PackKind::bf16>(s, p0, count, width, k0, length, out);
  const bool is_fnuz = s.type == DType::fp8_fnuz || s.type == DType::bf8_fnuz;
  (is_fnuz ? &pack_codes<DType::fp8_fnuz> : &pack_codes<DType::fp8_ocp>)(s, p0, count, width, k0, length, out);
#else
  if (s.kind == PackKind::i16) return pack_as<DType::int8, PackKind::i16>(s, p0, count, width, k0, length, panel);
  switch (s.type) {
    case DType::fp32: return pack_as<DType::fp32, PackKind::f32>(s, p0, count, width, k0, length, panel);
    case DType::fp16: return pack_as<DType::fp16, PackKind::f32>(s, p0, count, width, k0, length, panel);
    case DType::bf16: return pack_as<DType::bf16, PackKind::f32>(s, p0, count, width, k0, length, panel);
    case DType::int4:
    case DType::fp4: return pack_as<DType::fp4, PackKind::f32>(s, p0, count, width, k0, length, panel);
    default: return pack_as<DType::fp8_ocp, PackKind::f32>(s, p0, count, width, k0, length, panel);
  }
#endif
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
