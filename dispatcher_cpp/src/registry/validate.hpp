// Are constants that come from outside fit to be walked without further checks?
#pragma once

#include <ckgen/device_code.hpp>
#include <ckgen/library.hpp>
#include <ckgen/status.hpp>

namespace ckgen::inline v1::detail {

/// The ABI, names that are set, and every index of tables, heuristics and defaults inside its array.
Status validate(const Library& library) noexcept;
Status validate(const InstanceDesc& instance) noexcept;
/// The ABI, names and arrays that are set, GPU archs, and at most one object for each.
Status validate(const DeviceLibrary& library) noexcept;

}  // namespace ckgen::inline v1::detail
