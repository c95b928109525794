// A problem on a device, resolved: what operations are asked about.
#pragma once

#include <cstdint>

#include <ckgen/arch_data.hpp>
#include <ckgen/problem.hpp>

#include "src/operation/verdict.hpp"

namespace ckgen::inline v1::detail {

struct RegistryState;
class Index;

struct Request {
  const RegistryState& state;
  const Index& index;
  Signature signature;  // fp8 and bf8 in the arch's flavour
  Sizes sizes;
  bool deterministic;
  bool batch_invariant;
  Strategy strategy;
  Arch arch;
  std::uint32_t cu_num;
  std::uint16_t product;   // Device::product
  std::uint32_t archs;     // runnable_archs(arch)
  const Problem& problem;  // the caller's
};

}  // namespace ckgen::inline v1::detail
