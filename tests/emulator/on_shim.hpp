// What programs that run on whatever HIP runtime CKGEN_HIP_LIBRARY names share: its functions, and an end on an error.
#pragma once

#include <dlfcn.h>

#include <ckgen/ckgen.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

/// Calls a HIP function; ends the program where it fails.
template <class... Arguments>
void hip(const char* name, Arguments... arguments) {
  static void* const library = dlopen(std::getenv("CKGEN_HIP_LIBRARY"), RTLD_NOW);
  auto* function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  const int error = function == nullptr ? -1 : function(arguments...);
  if (error == 0) return;
  std::printf("%s: HIP error %d\n", name, error);
  std::exit(1);
}

inline void done(const ckgen::Status& status) {
  if (status.ok()) return;
  std::printf("%s\n", status.message);
  std::exit(1);
}

/// Writes bytes of the device to a file.
inline void keep(std::ofstream& file, const void* memory, std::int64_t bytes) {
  std::vector<char> values(static_cast<std::size_t>(bytes));
  hip("hipMemcpy", static_cast<void*>(values.data()), memory, values.size(), 2);
  file.write(values.data(), static_cast<std::streamsize>(bytes));
}
