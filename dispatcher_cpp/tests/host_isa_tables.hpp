// The kernels of each level that this CPU has, for tests that call them one by one.
#pragma once

#include "backends/host/gemm.hpp"
#include "backends/host/isa_table.hpp"

#include <vector>

namespace host_test {

inline std::vector<const ckgen::host::IsaTable*> isa_tables() {
  using namespace ckgen;
  std::vector<const host::IsaTable*> found;
  if (host::isa_available(Isa::x86_64_v3)) found.push_back(&host::kIsaV3);
  if (host::isa_available(Isa::x86_64_v4)) found.push_back(&host::kIsaV4);
  if (host::isa_available(Isa::x86_64_v4_bf16)) found.push_back(&host::kIsaV4Bf16);
  return found;
}

}  // namespace host_test
