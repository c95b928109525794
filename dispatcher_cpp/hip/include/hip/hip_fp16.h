// __half and the functions on it that kernel headers name, over clang's _Float16.
#pragma once

#include <hip/hip_runtime.h>

using __half = _Float16;

#define CKGEN_HALF static inline __attribute__((host, device, always_inline))

CKGEN_HALF float __half2float(__half x) {
  return static_cast<float>(x);
}
CKGEN_HALF __half __float2half(float x) {
  return static_cast<__half>(x);
}
CKGEN_HALF __half __hneg(__half x) {
  return -x;
}
CKGEN_HALF __half __hadd(__half x, __half y) {
  return x + y;
}
CKGEN_HALF __half __hsub(__half x, __half y) {
  return x - y;
}
CKGEN_HALF __half __hmul(__half x, __half y) {
  return x * y;
}
CKGEN_HALF __half __hdiv(__half x, __half y) {
  return x / y;
}
CKGEN_HALF bool __heq(__half x, __half y) {
  return x == y;
}
CKGEN_HALF bool __hne(__half x, __half y) {
  return x != y;
}
CKGEN_HALF bool __hlt(__half x, __half y) {
  return x < y;
}
CKGEN_HALF bool __hle(__half x, __half y) {
  return x <= y;
}
CKGEN_HALF bool __hgt(__half x, __half y) {
  return x > y;
}
CKGEN_HALF bool __hge(__half x, __half y) {
  return x >= y;
}
CKGEN_HALF __half hceil(__half x) {
  return __builtin_elementwise_ceil(x);
}
CKGEN_HALF __half hfloor(__half x) {
  return __builtin_elementwise_floor(x);
}
CKGEN_HALF __half hexp(__half x) {
  return __builtin_elementwise_exp(x);
}
CKGEN_HALF __half hlog(__half x) {
  return __builtin_elementwise_log(x);
}
CKGEN_HALF __half hsin(__half x) {
  return __builtin_elementwise_sin(x);
}

#undef CKGEN_HALF
