// What can be wrong with a schedule of splits of KV (ckgen/fmha_split.hpp).
#pragma once

#include "ckgen/instance.hpp"
#include "ckgen/status.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// Of arguments that check_fmha_args took. Tiles, cuts and partial rows of every entry are within the problem's;
/// whether entries leave nothing out, or meet in a partial row, is the planner's. Ok where there is no schedule.
Status check_fmha_schedule(const InstanceDesc& instance, const FmhaShape& shape, const FmhaArgs& args) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
