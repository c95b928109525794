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

// Of each part the last rows or columns, which are computed when all that is before them is taken: cores of virtual
// machines are not equally fast, and who is done first computes more of these.
struct Rest {
  bool of_rows;
  std::int64_t length, count;  // of a piece, and pieces of a part; 0: none

  std::int64_t all() const noexcept { return length * count; }
};

// Rows m0 ff. and columns n0 ff. of one product of the batch, computed in one go.
struct Piece {
  std::int64_t batch, m0, n0, rows, columns;
  int geometry;  // of Division
};

struct Division {
  Sizes size;
  Cut cut;  // of each product of the batch
  Rest rest;
  int threads;           // that compute pieces at the same time
  double flops;          // of the whole batch
  Geometry geometry[6];  // parts less the rest, by last rows and columns, and the rest; what there is not is unset
  std::size_t part_bytes, bytes;

  std::int64_t pieces() const noexcept { return size.batch * cut.count() * (1 + rest.count); }
  // In the order in which threads take them.
  Piece piece(std::int64_t i) const noexcept;
};

// Precondition: positive sizes (m, n may not be 0), all at most 2^40; blocking validated.
Division make_division(const GemmTraits& traits, const Blocking& blocking, const Sizes& sizes) noexcept;

void execute(const Division& division, const GemmTraits& traits, const GemmArgs& args, void* workspace) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
