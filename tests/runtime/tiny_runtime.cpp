// The C++ tests' tiny library as a generated one would present itself to Python.
#include "tiny_library.hpp"

extern "C" const void* ckgen_tiny_library(void) {
  return &tiny::library;
}
