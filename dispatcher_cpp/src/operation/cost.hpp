// What an instance costs on a problem: integers, of no unit but comparable within an operation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ckgen::inline v1::detail {

/// Sizes go up to 2^31 each, so a product of three needs more than 64 bits.
__extension__ using Wide = unsigned __int128;

inline std::uint64_t ceil_div(std::uint64_t x, std::uint64_t y) noexcept {
  return (x + y - 1) / y;
}

/// The cost, and the k_batch that has it.
struct SplitCost {
  Wide cost = 0;
  std::uint32_t splits = 1;
};

/// Numbers that an operation's own search keeps of each default beside the next one's: only that one knows what they
/// are.
struct DefaultNote {
  alignas(64) std::byte bytes[64];
};

/// A default that supports the problem: its position in the index and what it costs. At an entry's end: there is none.
struct DefaultFound {
  std::uint32_t at;
  SplitCost cost = {};
};

}  // namespace ckgen::inline v1::detail
