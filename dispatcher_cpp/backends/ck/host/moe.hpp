// Host units of the GEMMs of a mixture of experts: a part of a layer becomes the kernel that the op's own host code
// chooses. After prelude.hpp.
//
// The kernels take rows of A and C without gaps, sizes of N and K in whole tiles, and offsets in 32 bits. A row of
// padding is one behind the last of A or C: its loads give zeros, its stores vanish, as far as 2 GiB reach.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include <ckgen/moe.hpp>

#include "ck/host/prepare.hpp"

namespace ckgen::ck_host {

/// Sizes of one part as ck names them: `sorted` entries of token ids are M; N is inter_dim of gate_up.
struct MoeSizes {
  std::int32_t tokens = 0, top_k = 0, sorted = 0, n = 0, k = 0;
};

/// The part's own operands.
struct MoeOperands {
  const void* b;
  const void* b_scale;
  const void* weights;  // null where the kernel multiplies none
};

template <class C>
MoeOperands moe_operands(const MoeArgs& x) noexcept {
  const void* weights = C::weighted != 0 ? x.sorted.weights : nullptr;
  if constexpr (C::gate_up != 0) return {x.w1, x.w1_scale, weights};
  return {x.w2, x.w2_scale, weights};
}

/// No scales; or those of rows and columns, or of A and of the experts.
template <class Family>
struct Moe {
  using C = typename Family::C;
  static constexpr auto scale_order = ScaleOrder::any;
  static constexpr bool wide_experts = false;  // whether an expert's offset may exceed 32 bits

  static auto argument(const MoeSizes& s, const MoeArgs& x) {
    const MoeOperands own = moe_operands<C>(x);
    const std::array<const void*, 3> ds{x.a_scale, own.b_scale, own.weights};
    const std::array<Index, 3> strides{C::per_token, C::per_token, 0};
    return Family::template Op<Spec::Default>::MakeArgument(x.sorted.token_ids, x.sorted.expert_ids, x.sorted.valid,
                                                            x.a, own.b, ds, x.c, s.tokens, s.top_k, s.sorted, s.n, s.k,
                                                            s.k, s.k, strides, s.n, 1, {}, {}, {});
  }
};

/// A's scales are [row][K/128], an expert's [N/128][K/128], gate before up.
template <class Family>
struct MoeBlockScale {
  using C = typename Family::C;
  static constexpr auto scale_order = ScaleOrder::rows;
  static constexpr bool wide_experts = true;

  static auto argument(const MoeSizes& s, const MoeArgs& x) {
    const MoeOperands own = moe_operands<C>(x);
    return Family::template Op<Spec::Default>::MakeArgument(
        x.sorted.token_ids, x.sorted.expert_ids, x.sorted.valid, x.a, own.b, std::array<const void*, 1>{own.weights},
        x.c, s.tokens, s.top_k, s.sorted, s.n, s.k, s.k, s.k, std::array<Index, 1>{0}, s.n, x.a_scale, own.b_scale, 1,
        {}, {}, {});
  }
};

/// Scales are e8m0, shuffled, four in an int32; those of A in the order of the sorted token ids.
template <class Family>
struct MoeMx {
  using C = typename Family::C;
  static constexpr auto scale_order = ScaleOrder::shuffled;
  static constexpr bool wide_experts = false;

  static auto argument(const MoeSizes& s, const MoeArgs& x) {
    const MoeOperands own = moe_operands<C>(x);
    const std::array<const void*, 3> ds{nullptr, nullptr, own.weights};
    const Index scales = s.k / Family::scale_k;
    return Family::template Op<Spec::Default>::MakeArgument(
        x.sorted.token_ids, x.sorted.expert_ids, x.sorted.valid, x.a, x.a_scale, own.b, own.b_scale, ds, x.c, s.tokens,
        s.top_k, s.sorted, s.n, s.k, s.k, scales, s.k, scales, std::array<Index, 3>{}, s.n, 1, {}, {}, {});
  }
};

/// Refuses rows with gaps, and what 32 bits cannot count; `to` is as the kernel takes it.
template <class Unit>
Status moe_sizes(const Launch& launch, MoeSizes& to) noexcept {
  using C = typename Unit::Family::C;
  const MoeArgs& x = *launch.moe;
  const Problem& problem = *launch.problem;
  const Signature& s = problem.signature();
  const Routing routing = problem.routing();
  const std::int64_t n = problem.n(), k = problem.k();
  if (x.lda != k || x.ldc != n)
    return Status::error(StatusCode::unsupported, "%s: ck's kernel takes rows without gaps, not lda %lld, ldc %lld",
                         Unit::name, static_cast<long long>(x.lda), static_cast<long long>(x.ldc));
  const std::int64_t sorted = sorted_capacity(x.tokens, routing, C::m);
  const std::int64_t rows = x.tokens * routing.top_k;
  const std::int64_t of_expert = n * k * (C::gate_up != 0 ? 2 : 1);
  const struct {
    const char* name;
    std::int64_t from;
    std::int32_t& to;
  } fields[] = {{"tokens", x.tokens, to.tokens}, {"sorted rows", sorted, to.sorted}, {"N", n, to.n}, {"K", k, to.k}};
  for (const auto& field : fields) {
    if (!narrow(field.from, field.to))
      return Status::error(StatusCode::unsupported, "%s = %lld is beyond ck's 32-bit sizes", field.name,
                           static_cast<long long>(field.from));
  }
  to.top_k = routing.top_k;
  const std::int64_t rows_a = C::gate_up != 0 ? x.tokens : rows, rows_c = C::gate_up != 0 ? rows : x.tokens;
  const struct {
    const char* name;
    std::int64_t bytes;
    std::int64_t reach;
  } matrices[] = {{"A", (rows_a + routing.top_k) * k * bits(s.a) / 8, kReachWithTails},
                  {"C", (rows_c + routing.top_k) * n * bits(s.c) / 8, kReachWithTails},
                  {"an expert's weights", of_expert * bits(s.b) / 8, kReachWithTails},
                  {"all experts' weights, in elements", Unit::Kind::wide_experts ? 0 : of_expert * routing.experts,
                   std::numeric_limits<std::int32_t>::max()}};
  for (const auto& matrix : matrices) {
    if (matrix.bytes > matrix.reach)
      return Status::error(StatusCode::unsupported, "%s: %s take %lld, ck's kernel reaches %lld", Unit::name,
                           matrix.name, static_cast<long long>(matrix.bytes), static_cast<long long>(matrix.reach));
  }
  return Status::success();
}

/// Refuses scales in another layout than the kernel reads. a_scale_row_major says of e8m0 scales that they stand in the
/// order of A's rows.
template <class Unit>
Status check_moe_scales(const MoeArgs& args) noexcept {
  constexpr ScaleOrder order = Unit::Kind::scale_order;
  if (order == ScaleOrder::rows && !args.a_scale_row_major)
    return Status::error(StatusCode::unsupported, "%s: ck's kernel reads a_scale as [row][K/128] (a_scale_row_major)",
                         Unit::name);
  if (order == ScaleOrder::shuffled && (!args.mx_scale_shuffled || args.a_scale_row_major))
    return Status::error(StatusCode::unsupported,
                         "%s: ck's kernel reads shuffled scales (shuffle_mx_scale, mx_scale_shuffled), of A in the "
                         "order of the sorted rows (not a_scale_row_major)",
                         Unit::name);
  return Status::success();
}

/// Asks the op about a part on `arch`; `to` receives the launch.
template <class Unit>
Choice choose_moe(const MoeSizes& sizes, const MoeArgs& args, Arch arch, std::uint32_t cu_num, Recorded& to) noexcept {
  const DeviceScope scope(arch, cu_num);
  const auto argument = Unit::Kind::argument(sizes, args);
  Choice choice{ask<typename Unit::Family::template Op<Spec::Default>>(argument, to), nullptr, true};
  if (choice.answer != Answer::launched) return choice;
  choice.entry = find<Unit>(to.kernel, std::make_index_sequence<std::size(Unit::entries)>{});
  // An Argument begins with the address of its vtable in this process, which a device has no use for.
  if (to.size <= to.capacity) std::memset(to.args, 0, sizeof(void*));
  return choice;
}

/// PrepareFn of an instance of a part.
template <class Unit>
Status prepare_moe(const Launch& launch, Arch arch, std::uint32_t cu_num, KernelCall& out) noexcept {
  using C = typename Unit::Family::C;
  if (launch.moe == nullptr) return Status::error(StatusCode::internal, "%s: no MoE arguments", Unit::name);
  if (launch.k_batch > 1)
    return Status::error(StatusCode::unsupported, "%s: ck's kernel does not split K, k_batch is %u", Unit::name,
                         launch.k_batch);
  if (const Status status = check_moe_scales<Unit>(*launch.moe); !status.ok()) return status;
  MoeSizes sizes;
  if (const Status status = moe_sizes<Unit>(launch, sizes); !status.ok()) return status;
  alignas(16) unsigned char bytes[kMaxKernelArgs];
  Recorded recorded{bytes, sizeof bytes};
  const Choice choice = choose_moe<Unit>(sizes, *launch.moe, arch, cu_num, recorded);
  if (choice.answer == Answer::refused)
    return Status::error(StatusCode::unsupported, "%s: ck does not support N=%d K=%d on %s", Unit::name, sizes.n,
                         sizes.k, arch_info(arch).name);
  if (choice.answer != Answer::launched)
    return Status::error(StatusCode::unsupported, "%s: ck has no kernel for N=%d K=%d", Unit::name, sizes.n, sizes.k);
  if (choice.entry == nullptr) return not_compiled(Unit::name, "for this main loop", arch);
  if ((choice.entry->archs >> static_cast<unsigned>(arch) & 1U) == 0)
    return not_compiled(Unit::name, choice.entry->variant, arch);
  const Status filled =
      device::fill(out, choice.entry->symbol, device::Extent{recorded.grid.x, recorded.grid.y, recorded.grid.z},
                   device::Extent{recorded.block.x, recorded.block.y, recorded.block.z},
                   static_cast<std::uint32_t>(recorded.lds), recorded.args, recorded.size);
  if (filled.ok() && C::gate_up == 0) device::clear_c(out, launch);
  return filled;
}

}  // namespace ckgen::ck_host
