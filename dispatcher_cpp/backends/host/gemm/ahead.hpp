// Which lines of B a kernel asks for while it multiplies: those that the thread packs or reads next, so that memory is
// read while registers are busy.
#pragma once

#include "backends/host/isa/table.hpp"

#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

// Runs of lines of some columns of B by some elements of K, each run handed out once.
class Ahead {
 public:
  Ahead() noexcept = default;
  // Columns [n0, n0 + columns) by elements [k0, k0 + depth); none where they are not in long runs.
  Ahead(const PackSource& b, std::int64_t n0, std::int64_t columns, std::int64_t k0, std::int64_t depth) noexcept;

  // For a call of so many steps, MicroCall::ahead; good until the next take.
  const unsigned char* const* take(std::int64_t words) noexcept;

 private:
  static constexpr std::int64_t kMostRuns = 64;  // of a call
  const unsigned char* base_ = nullptr;
  std::int64_t pitch_ = 0, across_ = 1;  // from one row of runs to the next, in bytes; runs in a row
  std::int64_t next_ = 0, count_ = 0;
  const unsigned char* runs_[kMostRuns];
};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
