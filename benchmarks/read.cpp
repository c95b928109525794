// How fast all threads together read memory and do nothing with it: what a product bound by memory is held against.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/host/gemm/gemm.hpp"
#include "backends/host/threads.hpp"

namespace {

using namespace ckgen;

constexpr std::int64_t kPiece = std::int64_t{1} << 20, kAhead = std::int64_t{8} << 10;
// Callers' memory begins where numpy's does, on no boundary of vectors.
using Words = std::uint64_t __attribute__((vector_size(64), aligned(8)));

void see(const unsigned char* from, const unsigned char* next, std::int64_t bytes, Words (&any)[4]) {
  const Words* const at = reinterpret_cast<const Words*>(from);
  for (std::int64_t i = 0; i < bytes / 64; i += 4)
    for (std::int64_t w = 0; w < 4; ++w) {
      if (next != nullptr) __builtin_prefetch(next + (i + w) * 64, 0, 1);
      any[w] |= at[i + w];
    }
}

template <class Body>
std::uint64_t each(std::int64_t pieces, const Body& body) {
  std::vector<std::uint64_t> seen(static_cast<std::size_t>(host::thread_count()));
  host::parallel_for(pieces, host::thread_count(), [&](std::int64_t piece, int slot) {
    Words any[4] = {};
    body(piece, any);
    seen[static_cast<std::size_t>(slot)] |= any[0][0] | any[1][1] | any[2][2] | any[3][3];
  });
  std::uint64_t all = 0;
  for (const std::uint64_t one : seen) all |= one;
  return all;
}

}  // namespace

extern "C" {

/// In the order of addresses; whole MiB. The answer keeps the reads from being left out.
std::uint64_t bench_read(const unsigned char* memory, std::int64_t bytes) {
  return each(bytes / kPiece,
              [&](std::int64_t piece, Words(&any)[4]) { see(memory + piece * kPiece, nullptr, kPiece, any); });
}

/// Pages of K, each before that of V with the same number, in the table's order; the next small ones are fetched ahead.
std::uint64_t bench_read_pages(const unsigned char* k, const unsigned char* v, const std::int32_t* table,
                               std::int64_t pages, std::int64_t page_bytes) {
  const std::int64_t at_once = std::max<std::int64_t>(kPiece / page_bytes, 1), ahead = kAhead / page_bytes + 1;
  return each(pages / at_once, [&](std::int64_t piece, Words(&any)[4]) {
    for (std::int64_t i = piece * at_once; i < (piece + 1) * at_once; ++i) {
      const std::int64_t page = table[i] * page_bytes, next = table[std::min(i + ahead, pages - 1)] * page_bytes;
      const bool fetch = page_bytes < kAhead;
      for (const unsigned char* side : {k, v}) see(side + page, fetch ? side + next : nullptr, page_bytes, any);
    }
  });
}

}  // extern "C"
