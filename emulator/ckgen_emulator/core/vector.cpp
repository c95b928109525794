#include <vector>

#include "vector_parts.hpp"

namespace ckgen::emu {

std::span<const Semantics> vector_semantics() noexcept {
  static const std::vector<Semantics> all = [] {
    std::vector<Semantics> joined;
    for (const auto part : {vector_int32_semantics(), vector_int16_semantics(), vector_int64_semantics(),
                            vector_bytes_semantics(), vector_f32_semantics(), vector_f16_semantics(),
                            vector_f64_semantics(), vector_transcendental_semantics(), vector_divide_semantics()}) {
      joined.insert(joined.end(), part.begin(), part.end());
    }
    return joined;
  }();
  return all;
}

}  // namespace ckgen::emu
