#include "geometry.hpp"

#include <limits>

#include "occupancy.hpp"
#include "private_segment.hpp"

namespace ckgen::emu {
namespace {

constexpr std::uint32_t kMostItems = 1024;  // of a workgroup, on every arch

std::string shape(const std::uint32_t (&of)[3]) {
  return std::to_string(of[0]) + "x" + std::to_string(of[1]) + "x" + std::to_string(of[2]);
}

}  // namespace

Refusal refusal_of(const Kernel& kernel, const Chip& chip, const Dispatch& dispatch) {
  const std::string block = "a workgroup of " + shape(dispatch.block) + " work-items";
  std::uint64_t items = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const std::uint64_t along = std::uint64_t{dispatch.grid[axis]} * dispatch.block[axis];
    if (along == 0 || along > std::numeric_limits<std::uint32_t>::max())
      return {Refused::geometry, shape(dispatch.grid) + " times " + block + ": " + std::to_string(along) +
                                     " along axis " + std::to_string(axis)};
    items *= dispatch.block[axis];
    if (items > kMostItems) return {Refused::geometry, block + ", of at most " + std::to_string(kMostItems)};
  }
  if (kernel.max_workgroup != 0 && items > kernel.max_workgroup)
    return {Refused::geometry, block + "; " + kernel.name + " is compiled for at most " +
                                   std::to_string(kernel.max_workgroup) + " (.max_flat_workgroup_size)"};
  const std::uint64_t lds = std::uint64_t{kernel.lds_bytes} + dispatch.dynamic_lds;
  if (lds > chip.lds_bytes)
    return {Refused::resources, std::to_string(lds) + " bytes of LDS (" + std::to_string(dispatch.dynamic_lds) +
                                    " of them dynamic) of at most " + std::to_string(chip.lds_bytes)};
  const std::uint64_t groups = occupancy_of(kernel, chip, dispatch).groups();
  if (groups == 0)
    return {Refused::resources,
            block + " with " + std::to_string(kernel.vgprs) + " vector registers each: no compute unit has so many"};
  const std::uint64_t waves = (items + kLanes - 1) / kLanes * groups * chip.compute_units;
  if (!architected_flat_scratch(chip) && (waves + 1) * wave_scratch_bytes(kernel) > kScratchPoolBytes)
    return {Refused::resources, std::to_string(kernel.scratch_bytes) + " bytes of scratch, in each of the " +
                                    std::to_string(waves) + " waves that the chip holds"};
  return {};
}

}  // namespace ckgen::emu
