// Parts of a workspace, one behind the other.
#pragma once

#include <cstdint>
#include <limits>

namespace ckgen::inline v1::detail {

/// Each slice is aligned to 64 bytes. Exact: nothing follows the last one.
class Slices {
 public:
  /// The offset of a slice of so many bytes.
  std::uint64_t take(std::uint64_t bytes) noexcept {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max() - 63;
    if (bytes > most || end_ > most - bytes) {
      fits_ = false;
      return 0;
    }
    const std::uint64_t offset = (end_ + 63) / 64 * 64;
    if (bytes != 0) end_ = offset + bytes;
    return offset;
  }
  std::uint64_t total() const noexcept { return end_; }
  bool fits() const noexcept { return fits_; }  // whether 64 bits counted all of them

 private:
  std::uint64_t end_ = 0;
  bool fits_ = true;
};

}  // namespace ckgen::inline v1::detail
