// Which stage of a plan of attention's gradients checks the arguments for all: the first one. C++17, no HIP.
#pragma once

#include <ckgen/fmha.hpp>

namespace ckgen::device {

/// Whether that is the instance's kernel: without rows of Q there is no delta before it.
inline bool kernel_is_first(const FmhaShape& x) noexcept {
  return x.seqlen_q == 0;
}

}  // namespace ckgen::device
