#pragma once

#include <span>

#include <ckgen/table_product.hpp>

#include "src/operation/operation.hpp"

namespace ckgen::inline v1::detail {

/// What a unit says of its tables' products; nothing of an operation that has tables of its own kind.
inline std::span<const TableProduct> table_products(const SignatureUnit& unit) noexcept {
  if (operation_of(unit.signature.op).registering.own_table != nullptr) return {};
  return {static_cast<const TableProduct*>(unit.own_tables), unit.own_table_count};
}

}  // namespace ckgen::inline v1::detail
