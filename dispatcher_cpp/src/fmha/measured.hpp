// Tables of attention, whose rows are by both lengths.
#pragma once

#include <string>

#include <ckgen/instance.hpp>

#include "src/operation/candidate.hpp"
#include "src/operation/cost.hpp"
#include "src/operation/request.hpp"
#include "src/operation/shape.hpp"

namespace ckgen::inline v1::detail {

struct Entry;

/// The splits of a row's k_batch: 0, and any of a problem with a schedule, are as many as cost least.
std::uint32_t fmha_row_splits(const Request& request, const InstanceDesc& instance, std::uint32_t k_batch) noexcept;

/// Registering::hash_own_table.
void hash_fmha_table(const void* table, ShapeHash& hash) noexcept;

/// Selecting::next_measured of the tables of the problem's CU count: the tiers exact and near. table_m is the number of
/// keys.
bool next_fmha_row(const Request& request, const Entry& entry, std::uint32_t& at, Candidate& found) noexcept;

/// Why a tier of such tables offered nothing; empty where the arch has none, and of tiers that have no tables.
std::string fmha_absent_row(const Request& request, const Entry& entry, Tier tier);

}  // namespace ckgen::inline v1::detail
