#include "backends/host/moe/quantize.hpp"

#include "backends/host/gemm/pack_source.hpp"
#include "backends/host/threads.hpp"
#include "ckgen/codecs.hpp"
#include "ckgen/preshuffle.hpp"
#include "ckgen/scales.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr std::int64_t kMxGroup = 32;

float largest_value(DType type) noexcept {
  return type == DType::int8 ? 127.0F : max_finite(type);
}

// NaN does not count; the quotient of such an element is NaN.
float largest_of(const float* values, std::int64_t n) noexcept {
  float most = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float size = std::fabs(values[i]);
    most = most < size ? size : most;
  }
  return most;
}

class Quantizer {
 public:
  Quantizer(const QuantizeTask& task, unsigned char* slots, float* largest) noexcept
      : task_(task), slots_(slots), largest_(largest), most_(largest_value(task.traits->a)) {
    const Quant quant = task.traits->quant;
    group_ = quant == Quant::mx ? kMxGroup : quant == Quant::blockscale ? task.traits->scale_block.k : task.columns;
    groups_ = group_ == 0 ? 1 : ceil_div(task.columns, group_);
    source_ = make_pack_source(PackKind::f32, task.traits->c, task.values, task.columns, true, false);
  }

  void run() const noexcept {
    if (!scales_a(task_.traits->quant, task_.traits->scale_block)) {
      each_row([this](std::int64_t row, float* values) { store(row, 0, task_.columns, 1.0F, values); });
      return;
    }
    if (task_.traits->quant == Quant::per_tensor) {
      each_row([this](std::int64_t row, const float* values) { largest_[row] = largest_of(values, task_.columns); });
      const float scale = scale_of(largest_of(largest_, task_.rows));
      *static_cast<float*>(task_.scales) = scale;
      each_row([this, scale](std::int64_t row, float* values) { store(row, 0, task_.columns, scale, values); });
      return;
    }
    each_row([this](std::int64_t row, float* values) {
      for (std::int64_t g = 0; g < groups_; ++g) {
        const std::int64_t k0 = g * group_, n = std::min(group_, task_.columns - k0);
        store(row, k0, n, group_scale(row, g, largest_of(values + k0, n)), values + k0);
      }
    });
  }

 private:
  template <class Body>
  void each_row(const Body& body) const noexcept {
    parallel_for(task_.rows, task_.threads, [&](std::int64_t row, int slot) {
      auto* values =
          reinterpret_cast<float*>(slots_ + quantize_slot_bytes(task_.columns) * static_cast<std::size_t>(slot));
      task_.isa->pack(source_, row, 1, 1, 0, task_.columns, values);
      body(row, values);
    });
  }

  float scale_of(float largest) const noexcept { return largest == 0 ? 1.0F : largest / most_; }

  float group_scale(std::int64_t row, std::int64_t group, float largest) const noexcept {
    if (task_.traits->quant != Quant::mx) {
      const float scale = scale_of(largest);
      static_cast<float*>(task_.scales)[row * groups_ + group] = scale;
      return scale;
    }
    const int exponent = largest == 0 ? -127 : std::min(std::max(std::ilogb(largest) - std::ilogb(most_), -127), 127);
    const std::int64_t at = task_.shuffled ? shuffled_mx_scale(row, group, groups_) : row * groups_ + group;
    static_cast<unsigned char*>(task_.scales)[at] = static_cast<unsigned char>(exponent + 127);
    return std::ldexp(1.0F, exponent);
  }

  void store(std::int64_t row, std::int64_t k0, std::int64_t n, float scale, float* values) const noexcept {
    for (std::int64_t i = 0; i < n; ++i) values[i] /= scale;
    task_.isa->encode(task_.traits->a, values, task_.codes + bytes_of(task_.traits->a, row * task_.columns + k0), n);
  }

  const QuantizeTask& task_;
  unsigned char* const slots_;
  float* const largest_;
  const float most_;
  std::int64_t group_ = 0, groups_ = 0;
  PackSource source_{};
};

}  // namespace

bool quantizes(const GemmTraits& traits) noexcept {
  return traits.a != traits.c || scales_a(traits.quant, traits.scale_block);
}

std::size_t scale_bytes(const GemmTraits& t, std::int64_t rows, std::int64_t columns) noexcept {
  if (!scales_a(t.quant, t.scale_block)) return 0;
  const std::int64_t mx_groups = ceil_div(columns, kMxGroup);
  switch (t.quant) {
    case Quant::per_tensor: return 4;
    case Quant::rowwise: return static_cast<std::size_t>(rows) * 4;
    case Quant::blockscale: return static_cast<std::size_t>(rows * ceil_div(columns, t.scale_block.k)) * 4;
    case Quant::mx:
      return static_cast<std::size_t>(std::max(rows * mx_groups, shuffled_mx_scale_bytes(rows, mx_groups)));
    default: return 0;
  }
}

std::size_t quantize_slot_bytes(std::int64_t columns) noexcept {
  return static_cast<std::size_t>(columns) * 4;
}

void quantize(const QuantizeTask& task, unsigned char* slots, float* largest) noexcept {
  Quantizer(task, slots, largest).run();
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
