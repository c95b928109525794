#pragma once

#include <ckgen/arch_data.hpp>

namespace ckgen::inline v1::detail {

/// A table whose type only its operation knows, and the arch whose rows it has.
struct OwnTable {
  Arch arch;
  const void* table;
};

}  // namespace ckgen::inline v1::detail
