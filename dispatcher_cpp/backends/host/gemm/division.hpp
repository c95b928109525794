// How the threads of a call share a product: each computes a part of C of its own and packs what that needs, for what
// one core wrote is slow to read from another, and slower to write again.
#pragma once

#include "backends/host/gemm/driver.hpp"
#include "backends/host/gemm/parts.hpp"

#include <cstddef>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

struct Division {
  Sizes size;
  Cut cut;                  // of each product of the batch
  int threads;              // that compute parts at the same time
  double flops;             // of the whole batch
  Geometry geometry[2][2];  // of parts, of the last rows and of the last columns: what a product does not have is unset
  std::size_t part_bytes, bytes;

  const Geometry& geometry_of(std::int64_t row, std::int64_t column) const noexcept {
    return geometry[row == cut.down - 1][column == cut.across - 1];
  }
};

// Precondition: positive sizes (m, n may not be 0), all at most 2^40; blocking validated.
Division make_division(const GemmTraits& traits, const Blocking& blocking, const Sizes& sizes) noexcept;

void execute(const Division& division, const GemmTraits& traits, const GemmArgs& args, void* workspace) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
