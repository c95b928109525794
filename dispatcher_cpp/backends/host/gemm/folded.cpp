#include "backends/host/gemm/folded.hpp"

#include <algorithm>

#include <emmintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// Values of 8 bits are 2^-17 to 2^16: products are 2^-88 to 2^86 then, and 2^40 of them are less than 2^127.
constexpr int kBias = 127, kFarthest = 27;

// Any x86-64 has these vectors; a loop of bytes would take a tenth of the time of a product of few rows.
bool are_near(const void* codes, std::int64_t count) noexcept {
  const auto* at = static_cast<const unsigned char*>(codes);
  const __m128i least = _mm_set1_epi8(kBias - kFarthest);
  __m128i farthest = _mm_setzero_si128();
  for (; count >= 16; count -= 16, at += 16)
    farthest = _mm_max_epu8(farthest, _mm_sub_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)), least));
  unsigned char all[16];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(all), farthest);
  unsigned char most = *std::max_element(all, all + 16);
  for (; count > 0; --count, ++at) most = std::max(most, static_cast<unsigned char>(*at - (kBias - kFarthest)));
  return most <= 2 * kFarthest;
}

}  // namespace

bool can_fold(const GemmTraits& traits, const Blocking& blocking) noexcept {
  return traits.quant == Quant::mx && blocking.kind == PackKind::bf16 && has_tiles(blocking);
}

bool can_fold(const GemmTraits& traits, const Blocking& blocking, const GemmArgs& args) noexcept {
  if (!can_fold(traits, blocking) || args.mx_scale_shuffled) return false;
  const std::int64_t groups = ceil_div(args.k, 32);
  const auto entries = [&](std::int64_t stride) { return stride == 0 ? 1 : args.batch; };
  return are_near(args.a_scale, entries(args.batch_stride_a) * args.m * groups) &&
         are_near(args.b_scale, entries(args.batch_stride_b) * args.n * groups);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
