// What the mock HIP runtime and the mock CUDA driver have in common: codes, modules, calls that a test makes fail, and
// the images of code that they load.
//
// An image is a 64-byte ELF header, its total size as four bytes, then NUL-terminated texts: the arch, each kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mock_gpu {

// CUresult and hipError_t number these alike.
inline constexpr int kInvalidValue = 1;
inline constexpr int kInvalidDevice = 101;
inline constexpr int kNoBinaryForGpu = 209;
inline constexpr int kNotFound = 500;

inline constexpr int kModules = 64;

struct MockModule {
  int device;
  const char* image;
  bool live;
};

/// The call that a test makes fail, and with which code. Of static storage: all zeros.
struct Failing {
  char call[40];
  int code;

  void set(const char* name, int with) {
    std::strncpy(call, name, sizeof call - 1);
    code = with;
  }
  /// 0 where the test made another one fail, or none.
  int code_of(const char* name) const { return std::strcmp(call, name) == 0 ? code : 0; }
};

inline std::uint32_t image_size(const char* image) {
  std::uint32_t size = 0;
  std::memcpy(&size, image + 64, sizeof size);
  return size;
}

/// The text in `image` that equals `wanted` up to a ':' in `wanted`, or null.
inline const char* text_in(const char* image, const char* wanted) {
  const std::size_t length = std::strcspn(wanted, ":");
  for (const char* at = image + 68; at < image + image_size(image); at += std::strlen(at) + 1) {
    if (std::strlen(at) == length && std::strncmp(at, wanted, length) == 0) return at;
  }
  return nullptr;
}

}  // namespace mock_gpu
