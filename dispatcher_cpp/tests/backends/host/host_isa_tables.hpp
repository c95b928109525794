// The kernels of each level that is built and that this CPU has, for tests that call them one by one.
#pragma once

#include "backends/host/gemm/blocking.hpp"
#include "backends/host/gemm/gemm.hpp"
#include "backends/host/isa/table.hpp"

#include <vector>

namespace host_test {

inline std::vector<const ckgen::host::IsaTable*> isa_tables() {
  using namespace ckgen;
  std::vector<const host::IsaTable*> found;
  for (const host::Isa isa : {host::Isa::x86_64_v3, host::Isa::x86_64_v4, host::Isa::x86_64_v4_bf16})
    if (host::isa_available(isa)) found.push_back(host::table_for(isa));
  return found;
}

}  // namespace host_test
