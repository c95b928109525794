// In place of CK's cache flushing, which benchmarks use: no flush_icache kernel in every object, no device memory.
#pragma once

#include <array>
#include <cstddef>

#include "ck/host_utility/kernel_launch.hpp"

namespace ck::utility {

inline void flush_icache() {}

/// CK rotates a benchmark's operands through copies of them; here they stay.
template <class Argument>
struct RotatingMemWrapper {
  template <class... Sizes>
  explicit RotatingMemWrapper(Argument&, const Sizes&...) {}
  void Next() {}
  void Print() {}
};

template <class Argument, class Ds>
struct RotatingMemWrapperMultiD : RotatingMemWrapper<Argument> {
  using RotatingMemWrapper<Argument>::RotatingMemWrapper;
};

template <class Argument, class As, class Bs, class Ds>
struct RotatingMemWrapperMultiABD : RotatingMemWrapper<Argument> {
  using RotatingMemWrapper<Argument>::RotatingMemWrapper;
};

template <bool time_preprocess, class Argument, class... Args, class Kernel, class Preprocess>
float launch_and_time_kernel_with_preprocess(const StreamConfig& stream, Preprocess preprocess, Kernel kernel,
                                             dim3 grid, dim3 block, std::size_t lds, Argument& argument,
                                             const Args&... args) {
  preprocess();
  return launch_and_time_kernel(stream, kernel, grid, block, lds, argument, args...);
}

}  // namespace ck::utility
