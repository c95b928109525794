// Tables of rows that one product's devices answer by, of several that share an arch and a count.
#pragma once

#include <cstdint>

namespace ckgen {
inline namespace v1 {

/// Says of a table of a SignatureUnit, by its place in `tables`, that it is one product's. It has the ladders of which
/// the product has a row of its own, whole; all others are those of the table without a product. The SignatureUnit of
/// an operation that has no tables of its own kind has these as its `own_tables`.
struct TableProduct {
  std::uint32_t table;
  const char* sku;  // as in a target's third part
};

}  // namespace v1
}  // namespace ckgen
