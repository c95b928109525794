// The tile of scores of our attention kernels without matrix instructions, on both sides of a launch. C++17, no HIP.
#pragma once

namespace ckgen::hip {

inline constexpr int kScoreTile = 64;  // rows of Q, and keys
inline constexpr int kScoreThreads = 256;

}  // namespace ckgen::hip
