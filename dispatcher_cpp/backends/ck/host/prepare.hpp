// A host unit's algorithm: a Launch becomes the kernel that the op's own host code chooses, ready to be launched.
// After prelude.hpp.
//
// `Unit` is what a generated unit defines: `Family` (ck/ops), `Kind` (kinds.hpp), `name`, and `entries`, which lists
// every kernel that the instance can reach. Everything here is thread-safe and noexcept, and neither allocates nor
// prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>

#include <ckgen/device_code.hpp>

#include "ck/host/ask.hpp"
#include "ck/host/kinds.hpp"
#include "ck/host/operands.hpp"
#include "device/kernel_call.hpp"

namespace ckgen::ck_host {

template <class... Archs>
constexpr std::uint32_t on(Archs... archs) noexcept {
  return (0U | ... | (1U << static_cast<unsigned>(archs)));
}

/// A kernel of an instance and the archs (bit i: Arch with value i) whose code object holds it.
struct Entry {
  const char* symbol;
  const char* variant;
  ck_ops::Variant kernel;
  std::uint32_t archs;
};

/// What the op's own code makes of a problem; `entry` is set where it launched a kernel that `Unit::entries` lists.
struct Choice {
  Answer answer = Answer::refused;
  const Entry* entry = nullptr;
  bool known_spec = false;
};

/// The entry whose kernel has the address that the Invoker launched.
template <class Unit, std::size_t... i>
const Entry* find(void (*kernel)(), std::index_sequence<i...>) noexcept {
  const Entry* found = nullptr;
  static_cast<void>(((kernel == reinterpret_cast<void (*)()>(Unit::Family::template kernel<Unit::entries[i].kernel>())
                          ? (found = &Unit::entries[i], true)
                          : false) ||
                     ...));
  return found;
}

template <class Unit, Spec spec>
Choice choose_padded(const Sizes& sizes, const GemmArgs& args, Recorded& to) noexcept {
  using Op = typename Unit::Family::template Op<spec>;
  const auto argument = Unit::Kind::template argument<spec>(sizes, args);
  Choice choice{ask<Op>(argument, to), nullptr, true};
  if (choice.answer == Answer::launched)
    choice.entry = find<Unit>(to.kernel, std::make_index_sequence<std::size(Unit::entries)>{});
  // An Argument begins with the address of its vtable in this process, which a device has no use for.
  if constexpr (std::is_polymorphic_v<typename Op::Argument>) {
    if (choice.answer == Answer::launched && to.size <= to.capacity) std::memset(to.args, 0, sizeof(void*));
  }
  return choice;
}

template <class Unit, std::size_t i>
constexpr bool first_of_its_spec() {
  for (std::size_t j = 0; j < i; ++j)
    if (Unit::entries[j].kernel.spec == Unit::entries[i].kernel.spec) return false;
  return true;
}

template <class Unit, std::size_t i>
bool choose_if(Spec spec, const Sizes& sizes, const GemmArgs& args, Recorded& to, Choice& choice) noexcept {
  if constexpr (first_of_its_spec<Unit, i>()) {
    if (Unit::entries[i].kernel.spec == spec) {
      choice = choose_padded<Unit, Unit::entries[i].kernel.spec>(sizes, args, to);
      return true;
    }
  }
  return false;
}

template <class Unit, std::size_t... i>
Choice choose(const Sizes& sizes, const GemmArgs& args, Recorded& to, std::index_sequence<i...>) noexcept {
  const Spec spec = Unit::Kind::spec(sizes);
  Choice choice;
  static_cast<void>((choose_if<Unit, i>(spec, sizes, args, to, choice) || ...));
  return choice;
}

/// Asks the op about a problem on `arch`; `to` receives the launch.
template <class Unit>
Choice choose(const Sizes& sizes, const GemmArgs& args, Arch arch, std::uint32_t cu_num, Recorded& to) noexcept {
  const DeviceScope scope(arch, cu_num);
  return choose<Unit>(sizes, args, to, std::make_index_sequence<std::size(Unit::entries)>{});
}

inline Status not_compiled(const char* unit, const char* variant, Arch arch) noexcept {
  return Status::error(StatusCode::unsupported, "%s: its variant %s is not among those compiled for %s", unit, variant,
                       arch_info(arch).name);
}

/// Refuses scales in another layout than the kernel reads.
template <class Unit>
Status check_scales(const GemmArgs& args) noexcept {
  constexpr ScaleOrder order = Unit::Kind::scale_order;
  if constexpr (order == ScaleOrder::rows || order == ScaleOrder::columns) {
    constexpr bool rows = order == ScaleOrder::rows;
    if (args.a_scale_row_major != rows)
      return Status::error(StatusCode::unsupported, "%s: ck's kernel reads a_scale as %s", Unit::name,
                           rows ? "[M][K/128] (a_scale_row_major)" : "[K/128][M] (not a_scale_row_major)");
  } else if constexpr (order == ScaleOrder::shuffled) {
    if (!args.mx_scale_shuffled)
      return Status::error(StatusCode::unsupported,
                           "%s: ck's kernel reads shuffled scales; apply shuffle_mx_scale and set mx_scale_shuffled",
                           Unit::name);
  }
  return Status::success();
}

/// PrepareFn of an instance.
template <class Unit>
Status prepare(const Launch& launch, Arch arch, std::uint32_t cu_num, KernelCall& out) noexcept {
  Sizes sizes;
  if (const Status status = sizes_of(launch, sizes); !status.ok()) return status;
  if (!Unit::Kind::splits && sizes.k_batch > 1)
    return Status::error(StatusCode::unsupported, "%s: ck's kernel does not split K, k_batch is %d", Unit::name,
                         sizes.k_batch);
  if (const Status status = check_scales<Unit>(*launch.args); !status.ok()) return status;
  using C = typename Unit::Family::C;
  const bool tails = sizes.m % C::m != 0 || sizes.n % C::n != 0 || Unit::Kind::spec(sizes) != Spec::Default;
  if (const Status status = check_reach(launch, tails); !status.ok()) return status;
  alignas(16) unsigned char bytes[kMaxKernelArgs];
  Recorded recorded{bytes, sizeof bytes};
  const Choice choice = choose<Unit>(sizes, *launch.args, arch, cu_num, recorded);
  if (!choice.known_spec) return not_compiled(Unit::name, "for this padding", arch);
  switch (choice.answer) {
    case Answer::refused:
      return Status::error(StatusCode::unsupported, "%s: ck does not support M=%d N=%d K=%d with k_batch %d on %s",
                           Unit::name, sizes.m, sizes.n, sizes.k, sizes.k_batch, arch_info(arch).name);
    case Answer::nothing:
    case Answer::failed:
      return Status::error(StatusCode::unsupported, "%s: ck has no kernel for M=%d N=%d K=%d with k_batch %d",
                           Unit::name, sizes.m, sizes.n, sizes.k, sizes.k_batch);
    case Answer::launched: break;
  }
  if (choice.entry == nullptr) return not_compiled(Unit::name, "for this main loop", arch);
  if ((choice.entry->archs >> static_cast<unsigned>(arch) & 1U) == 0)
    return not_compiled(Unit::name, choice.entry->variant, arch);
  const Status filled =
      device::fill(out, choice.entry->symbol, device::Extent{recorded.grid.x, recorded.grid.y, recorded.grid.z},
                   device::Extent{recorded.block.x, recorded.block.y, recorded.block.z},
                   static_cast<std::uint32_t>(recorded.lds), recorded.args, recorded.size);
  if (filled.ok() && recorded.clears) device::clear_c(out, launch);
  return filled;
}

}  // namespace ckgen::ck_host
