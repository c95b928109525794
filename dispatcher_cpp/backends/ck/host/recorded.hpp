// What an op's Invoker decided to launch: written down in place of a launch.
#pragma once

#include <cstddef>

#include <hip/hip_runtime.h>

namespace ckgen::ck_host {

/// The launches that an Invoker asked for; `kernel` to `size` are the last one's. Its address travels as the stream.
struct Recorded {
  unsigned char* args;   // room for the kernel's argument
  std::size_t capacity;  // of args; a larger argument is counted, not copied
  std::size_t size = 0;  // bytes of the argument
  void (*kernel)() = nullptr;
  dim3 grid;
  dim3 block;
  std::size_t lds = 0;
  unsigned launches = 0;
  bool clears = false;  // C is to be zero before the kernel runs
};

}  // namespace ckgen::ck_host
