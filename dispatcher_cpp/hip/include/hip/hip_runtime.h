// The part of HIP that kernel headers name, for compiling AMDGPU code without ROCm: declarations and clang builtins.
//
// Compile with clang as HIP (`-x hip -nogpuinc -nogpulib -fdeclspec`) after clang's __clang_hip_runtime_wrapper.h.
// Atomics are relaxed at agent scope, as HIP's are; __syncthreads and __threadfence as in HIP's device library.
#pragma once

#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>

#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))

// (threads) or (threads, waves per EU), as HIP reads it
#define CKGEN_BOUNDS_1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define CKGEN_BOUNDS_2(threads, waves) \
  __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(waves)))
#define CKGEN_BOUNDS_PICK(a, b, bounds, ...) bounds
#define __launch_bounds__(...) CKGEN_BOUNDS_PICK(__VA_ARGS__, CKGEN_BOUNDS_2, CKGEN_BOUNDS_1, )(__VA_ARGS__)

struct uint2 {
  unsigned int x, y;
};
struct uint4 {
  unsigned int x, y, z, w;
};

__attribute__((host, device)) inline uint2 make_uint2(unsigned int x, unsigned int y) {
  return {x, y};
}

// kernel headers name HIP's own copies of these traits
namespace __hip_internal {
using std::is_same;
template <class T, class U>
inline constexpr bool is_same_v = std::is_same_v<T, U>;
using std::enable_if;
using std::is_integral;
}  // namespace __hip_internal

#define CKGEN_DEVICE static inline __attribute__((device, always_inline))

// threadIdx and its kin read as members, each access one builtin
#define CKGEN_COORDINATE(type, axis, expression)                            \
  __attribute__((device, always_inline)) std::uint32_t get_##axis() const { \
    return static_cast<std::uint32_t>(expression);                          \
  }                                                                         \
  __declspec(property(get = get_##axis)) std::uint32_t axis;
#define CKGEN_COORDINATES(name, x_, y_, z_)                                                                  \
  struct ckgen_##name {                                                                                      \
    CKGEN_COORDINATE(name, x, x_)                                                                            \
    CKGEN_COORDINATE(name, y, y_)                                                                            \
    CKGEN_COORDINATE(name, z, z_)                                                                            \
    __attribute__((device, always_inline)) operator dim3() const { return dim3(get_x(), get_y(), get_z()); } \
  };                                                                                                         \
  extern const __attribute__((device, weak)) ckgen_##name name;

CKGEN_COORDINATES(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                  __builtin_amdgcn_workitem_id_z())
CKGEN_COORDINATES(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                  __builtin_amdgcn_workgroup_id_z())
CKGEN_COORDINATES(blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
                  __builtin_amdgcn_workgroup_size_z())
CKGEN_COORDINATES(gridDim, __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(),
                  __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(),
                  __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z())

// Lanes per wave, a constant as kernel headers take it; the host pass sees that of gfx9.
#if defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
static constexpr int warpSize = 32;
#else
static constexpr int warpSize = 64;
#endif

CKGEN_DEVICE void* memcpy(void* to, const void* from, std::size_t bytes) {
  return __builtin_memcpy(to, from, bytes);
}
CKGEN_DEVICE void* memset(void* to, int value, std::size_t bytes) {
  return __builtin_memset(to, value, bytes);
}

CKGEN_DEVICE void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
CKGEN_DEVICE void __threadfence() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}
CKGEN_DEVICE void __threadfence_block() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}

#define CKGEN_ATOMIC(name, builtin)                                                             \
  template <class T, class V>                                                                   \
  CKGEN_DEVICE T name(T* address, V value) {                                                    \
    return builtin(address, static_cast<T>(value), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
  }
CKGEN_ATOMIC(atomicAdd, __hip_atomic_fetch_add)
CKGEN_ATOMIC(atomicMax, __hip_atomic_fetch_max)
CKGEN_ATOMIC(atomicMin, __hip_atomic_fetch_min)
CKGEN_ATOMIC(atomicOr, __hip_atomic_fetch_or)
CKGEN_ATOMIC(atomicAnd, __hip_atomic_fetch_and)
CKGEN_ATOMIC(atomicExch, __hip_atomic_exchange)
template <class T, class V>
CKGEN_DEVICE T atomicSub(T* address, V value) {
  return __hip_atomic_fetch_add(address, static_cast<T>(-static_cast<T>(value)), __ATOMIC_RELAXED,
                                __HIP_MEMORY_SCOPE_AGENT);
}
template <class T, class E, class V>
CKGEN_DEVICE T atomicCAS(T* address, E compare, V value) {
  T expected = static_cast<T>(compare);
  __hip_atomic_compare_exchange_strong(address, &expected, static_cast<T>(value), __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}

CKGEN_DEVICE unsigned int __lane_id() {
  return __builtin_amdgcn_wavefrontsize() == 32 ? __builtin_amdgcn_mbcnt_lo(~0U, 0)
                                                : __builtin_amdgcn_mbcnt_hi(~0U, __builtin_amdgcn_mbcnt_lo(~0U, 0));
}
CKGEN_DEVICE int __clz(int value) {
  return value == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(value));
}
CKGEN_DEVICE unsigned int __umulhi(unsigned int x, unsigned int y) {
  return static_cast<unsigned int>((static_cast<std::uint64_t>(x) * y) >> 32);
}
// Byte i of the result is byte `selector` nibble i (mod 8) of y:x, x being the low word.
CKGEN_DEVICE unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(y) << 32 | x;
  unsigned int result = 0;
  for (unsigned int i = 0; i < 4; ++i)
    result |= static_cast<unsigned int>(bytes >> (8 * (selector >> (4 * i) & 7)) & 0xFF) << (8 * i);
  return result;
}
CKGEN_DEVICE int __popc(unsigned int value) {
  return __builtin_popcount(value);
}

// A lane's value from another lane of its segment of `width`; lanes that would leave it read their own.
#define CKGEN_SHUFFLE(name, lane)                                                                            \
  template <class T>                                                                                         \
  CKGEN_DEVICE T name(T value, int step, int width = static_cast<int>(__builtin_amdgcn_wavefrontsize())) {   \
    static_assert(sizeof(T) == 4, "4-byte values only");                                                     \
    const int self = static_cast<int>(__lane_id());                                                          \
    const int first = self & ~(width - 1);                                                                   \
    const int other = lane;                                                                                  \
    const int source = other < first || other >= first + width ? self : other;                               \
    return __builtin_bit_cast(T, __builtin_amdgcn_ds_bpermute(source << 2, __builtin_bit_cast(int, value))); \
  }
CKGEN_SHUFFLE(__shfl, first + (step & (width - 1)))
CKGEN_SHUFFLE(__shfl_up, self - step)
CKGEN_SHUFFLE(__shfl_down, self + step)
CKGEN_SHUFFLE(__shfl_xor, self ^ step)

// Device code has no host to print on: the text is dropped, a failed assertion stops the wave.
CKGEN_DEVICE int printf(const char*, ...) {
  return 0;
}
__attribute__((device, noreturn)) inline void __assert_fail(const char*, const char*, unsigned int, const char*) {
  __builtin_trap();
}

#define __hip_assert(condition) assert(condition)

// clang's math wrapper and the kernel headers reach these by name; builtins replace ROCm's bitcode libraries
extern "C" __attribute__((device, always_inline)) inline float __ocml_exp_f32(float x) {
  return __builtin_elementwise_exp(x);
}

#undef CKGEN_ATOMIC
#undef CKGEN_SHUFFLE
#undef CKGEN_COORDINATE
#undef CKGEN_COORDINATES
