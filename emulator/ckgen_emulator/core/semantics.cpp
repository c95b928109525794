#include "semantics.hpp"

#include <unordered_map>

namespace ckgen::emu {

const Semantics* find_semantics(std::string_view name) noexcept {
  static const auto known = [] {
    std::unordered_map<std::string_view, const Semantics*> all;
    for (const auto part : {scalar_semantics(), vector_semantics(), compare_semantics(), conversion_semantics(),
                            cross_lane_semantics(), packed_semantics(), matrix_semantics(), scalar_memory_semantics(),
                            vector_memory_semantics(), lds_semantics()}) {
      for (const Semantics& one : part) all.emplace(one.name, &one);
    }
    return all;
  }();
  const auto found = known.find(name);
  return found == known.end() ? nullptr : found->second;
}

}  // namespace ckgen::emu
