// Memory of Q, K and V, and times, for the programs that measure attention over a KV cache.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <ckgen/ckgen.hpp>

namespace bench {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<unsigned char, Free>;

inline bool huge_pages = false;

/// Whole pages of 2 MB, which the kernel is asked for where they are to be huge.
inline Memory memory_of(std::size_t bytes) {
  constexpr std::size_t kPage = std::size_t{2} << 20;
  const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
  Memory memory(static_cast<unsigned char*>(std::aligned_alloc(kPage, whole)));
  madvise(memory.get(), whole, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return memory;
}

/// Small numbers of a type: exponents near that of 1, random signs and mantissas.
inline Memory numbers(ckgen::DType type, std::int64_t count) {
  const std::int64_t bytes = ckgen::bytes_of(type, count), each = ckgen::bytes_of(type, 1);
  Memory memory = memory_of(static_cast<std::size_t>(bytes));
  std::uint64_t state = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint32_t any = static_cast<std::uint32_t>(state >> 32);
    const std::uint32_t code = type == ckgen::DType::fp32      ? (any & 0x807fffffU) | 0x3f000000U
                               : type == ckgen::DType::bf16    ? (any & 0x807fU) | 0x3f00U
                               : type == ckgen::DType::fp8_ocp ? (any & 0x87U) | 0x30U
                                                               : (any & 0x83ffU) | 0x3800U;
    std::memcpy(memory.get() + i * each, &code, static_cast<std::size_t>(each));
  }
  return memory;
}

template <class Body>
double milliseconds(const Body& body) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  body();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

inline double median(std::vector<double>& times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace bench
