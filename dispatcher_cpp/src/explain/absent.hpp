// Why a tier offered nothing, in words.
#pragma once

#include <string>

#include "src/select/query.hpp"

namespace ckgen::inline v1::detail {

/// "no row for M=100 (ladder 16, 128 of 2)" and its like: the same sentences as codegen/ckgen/plan/trail.py and its
/// families' explain.py.
std::string why_absent(const Query& query, Tier tier);

}  // namespace ckgen::inline v1::detail
