#include "kernarg.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "lanes.hpp"

namespace ckgen::emu {
namespace {

std::optional<std::uint64_t> hidden_value(std::string_view kind, const Dispatch& dispatch) {
  const auto axis_of = [&](std::string_view prefix) -> int {
    if (!kind.starts_with(prefix) || kind.size() != prefix.size() + 1) return -1;
    const char last = kind.back();
    return last >= 'x' && last <= 'z' ? last - 'x' : -1;
  };
  if (const int axis = axis_of("hidden_block_count_"); axis >= 0) return dispatch.grid[axis];
  if (const int axis = axis_of("hidden_group_size_"); axis >= 0) return dispatch.block[axis];
  if (axis_of("hidden_remainder_") >= 0 || axis_of("hidden_global_offset_") >= 0) return 0;
  if (kind == "hidden_grid_dims")
    return dispatch.grid[2] * dispatch.block[2] > 1 ? 3 : dispatch.grid[1] * dispatch.block[1] > 1 ? 2 : 1;
  if (kind == "hidden_dynamic_lds_size") return dispatch.dynamic_lds;
  if (kind == "hidden_private_base") return kPrivateAperture >> 32;
  if (kind == "hidden_shared_base") return kSharedAperture >> 32;
  return std::nullopt;
}

}  // namespace

KernargSegment kernarg_segment(const Kernel& kernel, const Dispatch& dispatch, std::span<const std::uint8_t> args) {
  KernargSegment segment;
  const std::size_t size = std::max<std::size_t>(kernel.kernarg_bytes, args.size());
  segment.bytes.assign(size, 0);
  std::copy(args.begin(), args.end(), segment.bytes.begin());
  if (!args.empty()) segment.written.push_back({0, args.size()});
  for (const Argument& hidden : kernel.hidden) {
    const std::optional<std::uint64_t> value = hidden_value(hidden.kind, dispatch);
    const std::size_t bytes = std::min<std::size_t>(hidden.size, sizeof *value);
    if (!value || bytes == 0 || hidden.offset + bytes > size) continue;
    std::memcpy(&segment.bytes[hidden.offset], &*value, bytes);
    segment.written.push_back({hidden.offset, bytes});
  }
  return segment;
}

}  // namespace ckgen::emu
