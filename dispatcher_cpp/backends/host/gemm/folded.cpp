#include "backends/host/gemm/folded.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// Values of 8 bits are 2^-17 to 2^16: products are 2^-88 to 2^86 then, and 2^40 of them are less than 2^127.
constexpr int kBias = 127, kFarthest = 27;

// Without a branch in it, so that the compiler takes vectors.
bool are_near(const void* codes, std::int64_t count) noexcept {
  const auto* all = static_cast<const unsigned char*>(codes);
  constexpr std::int64_t kBlock = 1 << 12;
  for (std::int64_t i = 0; i < count; i += kBlock) {
    const std::int64_t end = std::min(count, i + kBlock);
    unsigned char farthest = 0;
    for (std::int64_t j = i; j < end; ++j)
      farthest = std::max(farthest, static_cast<unsigned char>(all[j] - (kBias - kFarthest)));
    if (farthest > 2 * kFarthest) return false;
  }
  return true;
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
