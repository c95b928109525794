#pragma once

#include <cstdint>

#include <ckgen/selection.hpp>

namespace ckgen::inline v1::detail {

/// One thing that a walk tries. `table_m`: the measured size that names it, 0 where no row did; `cu_num`: its table's.
struct Candidate {
  Tier tier;
  std::uint32_t instance;
  std::uint32_t k_batch;
  std::uint64_t table_m;
  std::uint32_t cu_num = 0;
};

}  // namespace ckgen::inline v1::detail
