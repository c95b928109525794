// What host units of every kernel library share: filling a KernelCall. C++17, no HIP, no kernel library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <ckgen/device_code.hpp>
#include <ckgen/dtype.hpp>

namespace ckgen::device {

/// Work-items or workgroups along three axes, as the kernel libraries compute them.
struct Extent {
  std::uint64_t x = 1;
  std::uint64_t y = 1;
  std::uint64_t z = 1;
};

inline Status copy_extent(const Extent& from, const char* what, std::uint32_t (&to)[3]) noexcept {
  const std::uint64_t axes[3] = {from.x, from.y, from.z};
  for (int i = 0; i < 3; ++i) {
    if (axes[i] == 0 || axes[i] > std::numeric_limits<std::uint32_t>::max())
      return Status::error(StatusCode::unsupported, "a %s of %llu x %llu x %llu cannot be launched", what,
                           static_cast<unsigned long long>(from.x), static_cast<unsigned long long>(from.y),
                           static_cast<unsigned long long>(from.z));
    to[i] = static_cast<std::uint32_t>(axes[i]);
  }
  return Status::success();
}

/// Fills all of `out` but `clear` for a kernel that takes one argument by value, whose bytes are `bytes[size]`.
/// `symbol` must live until the launch. Refused: an empty extent, arguments beyond kMaxKernelArgs.
inline Status fill(KernelCall& out, const char* symbol, const Extent& grid, const Extent& block,
                   std::uint32_t dynamic_lds, const void* bytes, std::size_t size) noexcept {
  out.reset();
  if (size > kMaxKernelArgs)
    return Status::error(StatusCode::internal, "%s takes %zu bytes of arguments, at most %u can be given", symbol, size,
                         static_cast<unsigned>(kMaxKernelArgs));
  if (const Status status = copy_extent(grid, "grid", out.grid); !status.ok()) return status;
  if (const Status status = copy_extent(block, "block", out.block); !status.ok()) return status;
  out.symbol = symbol;
  out.dynamic_lds = dynamic_lds;
  out.args_size = static_cast<std::uint32_t>(size);
  std::memcpy(out.args, bytes, size);
  return Status::success();
}

/// The same from the argument itself. Its bytes are taken as they are, as a launch does it, so a struct with a
/// host-only part (a vtable pointer) is allowed; it must own nothing.
template <class Argument>
Status fill(KernelCall& out, const char* symbol, const Extent& grid, const Extent& block, std::uint32_t dynamic_lds,
            const Argument& argument) noexcept {
  static_assert(!std::is_pointer_v<Argument>, "give the argument, not its address");
  static_assert(sizeof(Argument) <= kMaxKernelArgs, "raise kMaxKernelArgs");
  static_assert(alignof(Argument) <= kKernelArgsAlignment, "raise kKernelArgsAlignment");
  return fill(out, symbol, grid, block, dynamic_lds, static_cast<const void*>(&argument), sizeof(Argument));
}

/// Says that the kernel adds into C, and so what its reset_output stage zeroes: each row, not what lies between rows or
/// batches; of a grouped kernel each group's, of a MoE layer's down the tokens' rows.
inline void clear_c(KernelCall& out, const Launch& launch) noexcept {
  const auto bytes = static_cast<std::size_t>(bits(launch.problem->signature().c)) / 8;
  if (launch.grouped != nullptr) {
    out.clear_groups = true;
    return;
  }
  if (launch.moe != nullptr) {
    const bool is_layer = launch.problem->signature().moe.part == MoePart::layer;
    out.clear = Clear{launch.moe->c, static_cast<std::size_t>(launch.moe->ldc) * bytes,
                      static_cast<std::size_t>(is_layer ? launch.problem->k() : launch.problem->n()) * bytes,
                      static_cast<std::size_t>(launch.moe->tokens)};
    return;
  }
  const GemmArgs& args = *launch.args;
  out.clear = Clear{args.c,
                    static_cast<std::size_t>(args.ldc) * bytes,
                    static_cast<std::size_t>(args.n) * bytes,
                    static_cast<std::size_t>(args.m),
                    static_cast<std::size_t>(args.batch < 1 ? 1 : args.batch),
                    static_cast<std::size_t>(args.batch_stride_c) * bytes};
}

}  // namespace ckgen::device
