// What most sources of the core include of the compiler and its library, read once: core_library.py precompiles it.
// Nothing may depend on it: sources include what they use.
#ifndef CKGEN_EMULATOR_PRELUDE_HPP
#define CKGEN_EMULATOR_PRELUDE_HPP

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#endif
