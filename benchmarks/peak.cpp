// How fast all threads together multiply and add, on registers alone: what a product bound by arithmetic is held
// against.
#include "backends/host/gemm/gemm.hpp"
#include "backends/host/threads.hpp"

#include <cstdint>

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr int kSums = 12;  // enough for two pipes of a latency of six

#if defined(__AVX512F__)
using Floats = __m512;
inline Floats multiplied(Floats sum, Floats a, Floats b) {
  return _mm512_fmadd_ps(a, b, sum);
}
#else
using Floats = __m256;
inline Floats multiplied(Floats sum, Floats a, Floats b) {
  return _mm256_fmadd_ps(a, b, sum);
}
#endif

// Operations of `steps` steps; the asm statements keep the sums in registers, and keep them at all.
template <class Factor, class F>
std::int64_t each_thread(std::int64_t steps, std::int64_t of_a_lane, Factor one, F&& add) {
  const int threads = ckgen::host::thread_count();
  ckgen::host::parallel_for(threads, threads, [&](std::int64_t, int) {
    Floats sum[kSums] = {};
    for (std::int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
      for (int s = 0; s < kSums; ++s) {
        sum[s] = add(sum[s], one);
        asm volatile("" : "+v"(sum[s]));
      }
    }
  });
  return threads * steps * kSums * std::int64_t{sizeof(Floats) / 4} * of_a_lane;
}

#if defined(__AMX_BF16__) && defined(__AMX_INT8__)
// Eight tiles of 16 rows of 64 bytes: four of sums, two of each factor, as a product has them.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Whether Linux gives this process tile registers: ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA.
bool gets_tiles() {
  static const bool granted = syscall(SYS_arch_prctl, 0x1023L, 18L) == 0;
  return granted;
}

// As each_thread, of tile instructions: four of them a step, each of 16 x 16 sums. 0 where there are no tiles.
template <class F>
std::int64_t each_thread_by_tiles(std::int64_t steps, std::int64_t depth, F&& add) {
  if (!gets_tiles()) return 0;
  const int threads = ckgen::host::thread_count();
  ckgen::host::parallel_for(threads, threads, [&](std::int64_t, int) {
    const TileConfig config;
    _tile_loadconfig(&config);
    for (std::int64_t i = 0; i < steps; ++i) add();
    _tile_release();
  });
  return threads * steps * 4 * 16 * 16 * depth * 2;
}

std::int64_t bf16_by_tiles(std::int64_t steps) {
  return each_thread_by_tiles(steps, 32, [] {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  });
}

std::int64_t int8_by_tiles(std::int64_t steps) {
  return each_thread_by_tiles(steps, 64, [] {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  });
}
#else
std::int64_t bf16_by_tiles(std::int64_t) {
  return 0;
}
std::int64_t int8_by_tiles(std::int64_t) {
  return 0;
}
#endif

}  // namespace

extern "C" {

/// Multiplications and additions of fp32 that were done.
std::int64_t bench_peak_fp32(std::int64_t steps) {
  return each_thread(steps, 2, Floats{}, [](Floats sum, Floats one) { return multiplied(sum, one, one); });
}

/// The same of bf16 added up in fp32, by tiles where there are such; 0 where there is no such instruction.
std::int64_t bench_peak_bf16(std::int64_t steps) {
  if (const std::int64_t done = bf16_by_tiles(steps / 8)) return done;
#if defined(__AVX512BF16__)
  return each_thread(steps, 4, Floats{},
                     [](Floats sum, Floats one) { return _mm512_dpbf16_ps(sum, (__m512bh)one, (__m512bh)one); });
#else
  return 0;
#endif
}

/// The same of int8 added up in int32, by tiles where there are such; 0 where there is no such instruction.
std::int64_t bench_peak_int8(std::int64_t steps) {
  if (const std::int64_t done = int8_by_tiles(steps / 8)) return done;
#if defined(__AVX512VNNI__)
  return each_thread(steps, 8, Floats{}, [](Floats sum, Floats one) {
    const __m512i i = _mm512_castps_si512(one);
    return _mm512_castsi512_ps(_mm512_dpbusd_epi32(_mm512_castps_si512(sum), i, i));
  });
#else
  return 0;
#endif
}

}  // extern "C"
