// Tables of rows that one product's devices answer by, of several that share an arch and a count.
#pragma once

#include <cstdint>

namespace ckgen {
inline namespace v1 {

/// Says that a table of a SignatureUnit, by its place in `tables`, is one product's. Such a table holds each ladder in
/// which the product has a row of its own, whole; for all others the table without a product answers. A SignatureUnit
/// has these as its `own_tables`, where its operation has no tables of its own kind.
struct TableProduct {
  std::uint32_t table;
  const char* sku;  // as in a target's third part
};

}  // namespace v1
}  // namespace ckgen
