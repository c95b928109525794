// WHAT is computed: the fields that a Problem and an Instance must share to be matched.
#pragma once

#include <cstdint>

#include <ckgen/dtype.hpp>
#include <ckgen/gemm_types.hpp>

namespace ckgen {
inline namespace v1 {

enum class Op : std::uint8_t { gemm, stream_k, grouped_gemm, moe, fmha };

/// Every field takes part in matching. `scale` is DType::none where nothing is scaled.
/// A dtype of fp8 or bf8 means the device's own flavour; instances never hold one.
struct Signature {
  Op op = Op::gemm;
  DType a = DType::fp32;
  DType b = DType::fp32;
  DType c = DType::fp32;
  DType acc = DType::fp32;
  DType scale = DType::none;
  Layout layout = Layout::rcr;
  Quant quant = Quant::none;
  bool preshuffle_b = false;
  bool batched = false;
  bool bias = false;

  /// All fields in one integer: equal exactly when the signatures are equal.
  constexpr std::uint64_t pack() const noexcept {
    std::uint64_t key = static_cast<std::uint64_t>(op);
    for (const DType dtype : {a, b, c, acc, scale}) key = key << 5 | static_cast<std::uint64_t>(dtype);
    key = key << 3 | static_cast<std::uint64_t>(layout);
    key = key << 4 | static_cast<std::uint64_t>(quant);
    return key << 3 | static_cast<std::uint64_t>(preshuffle_b) << 2 | static_cast<std::uint64_t>(batched) << 1 |
           static_cast<std::uint64_t>(bias);
  }

  friend constexpr bool operator==(const Signature& x, const Signature& y) noexcept { return x.pack() == y.pack(); }
  friend constexpr bool operator!=(const Signature& x, const Signature& y) noexcept { return !(x == y); }
};

}  // namespace v1
}  // namespace ckgen
