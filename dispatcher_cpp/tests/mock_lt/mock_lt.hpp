// What a test can ask the mock of cuBLASLt or hipBLASLt, by dlsym. It computes products on this CPU as the libraries'
// manuals define them, column by column, and has three algorithms, by the ids and in the order of kMockAlgorithms.
#pragma once

#include <cstddef>
#include <cstdint>

/// Settings of an algorithm by the codes of cuBLASLt's attributes 0 to 8: id, tile, splits, reduction, swizzle, custom,
/// stages, inner, cluster. hipBLASLt's have the id alone.
struct MockLtSettings {
  std::uint32_t of[9];
};
inline constexpr MockLtSettings kMockAlgorithms[] = {
    {{66, 24, 1, 0, 1, 5, 35, 4, 3}}, {{21, 20, 3, 2, 0, 0, 12, 0, 0}}, {{66, 700, 1, 0, 0, 0, 36, 0, 11}}};

struct MockLtCounts {
  int handles, descriptions, checks, heuristics, products;
  int live;  // descriptions, layouts and preferences that were not destroyed
};

struct MockLtProduct {
  MockLtSettings settings;
  void* workspace;
  std::size_t workspace_bytes;
  void* stream;
};

extern "C" {
MockLtCounts mock_lt_counts();
MockLtProduct mock_lt_last_product();
/// From now on `call`, without the library's prefix, answers with `code`; 0 ends it.
void mock_lt_fail(const char* call, int code);
/// The version number that it says it has; 0: its usual one.
void mock_lt_version(int number);
}
