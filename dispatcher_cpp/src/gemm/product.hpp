// What descriptors of GEMMs, groups of them and MoE layers have in common.
#pragma once

#include <string>

#include "src/operation/operation.hpp"

namespace ckgen::inline v1::detail {

/// Whether the quantisation and layout are enumerators.
bool is_known_product(const Signature& signature) noexcept;

std::int32_t most_k_splits(const InstanceDesc& instance) noexcept;

/// Whether splits of K of a kernel of attached GPU code add to C.
bool splits_add(const Stage& kernel) noexcept;

/// B of a batched signature's row.
std::string read_batch(const FileRow& row, const Signature& signature, OverrideKey& key);

/// M, N and K of a row of a table.
std::string read_sizes(const FileRow& row, ShapeProblem& shape);

}  // namespace ckgen::inline v1::detail
