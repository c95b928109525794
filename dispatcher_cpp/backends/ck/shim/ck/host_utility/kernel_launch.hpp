// In place of CK's launcher: what an op's own Invoker decides to launch is written down, nothing is launched.
//
// The stream of a StreamConfig is the address of the ckgen::ck_host::Recorded to fill, or null to drop the launch.
// Included by device units too, where the invokers are parsed and never run.
#pragma once

#include <cstddef>
#include <cstring>

#include "ck/ck.hpp"
#include "ck/host/recorded.hpp"
#include "ck/host_utility/hip_check_error.hpp"
#include "ck/stream_config.hpp"

namespace ckgen::ck_host {

template <class Kernel, class Argument>
void record(const StreamConfig& stream, Kernel kernel, dim3 grid, dim3 block, std::size_t lds, const Argument& args) {
  auto* to = reinterpret_cast<Recorded*>(stream.stream_id_);
  if (to == nullptr) return;
  ++to->launches;
  to->kernel = reinterpret_cast<void (*)()>(kernel);
  to->grid = grid;
  to->block = block;
  to->lds = lds;
  to->size = sizeof(Argument);
  if (sizeof(Argument) <= to->capacity) std::memcpy(to->args, static_cast<const void*>(&args), sizeof(Argument));
}

}  // namespace ckgen::ck_host

template <class... Args, class Kernel>
float launch_and_time_kernel(const StreamConfig& stream, Kernel kernel, dim3 grid, dim3 block, std::size_t lds,
                             const Args&... args) {
  static_assert(sizeof...(Args) == 1, "only kernels that take one argument struct are prepared");
  ckgen::ck_host::record(stream, kernel, grid, block, lds, args...);
  return 0;
}

template <class... Args, class Kernel, class Preprocess>
float launch_and_time_kernel_with_preprocess(const StreamConfig& stream, Preprocess preprocess, Kernel kernel,
                                             dim3 grid, dim3 block, std::size_t lds, const Args&... args) {
  preprocess();
  return launch_and_time_kernel(stream, kernel, grid, block, lds, args...);
}
