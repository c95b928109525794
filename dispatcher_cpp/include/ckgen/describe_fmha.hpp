// The words that generated units of attention are written in.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ckgen/describe_table.hpp>
#include <ckgen/fmha_table.hpp>
#include <ckgen/instance.hpp>

namespace ckgen {
inline namespace v1 {
namespace describe {

struct FmhaTraitWords {
  FmhaTraits value{};

  constexpr FmhaTraitWords& entry(FmhaEntry x) noexcept { return value.entry = x, *this; }
  constexpr FmhaTraitWords& varlen(bool x = true) noexcept { return value.varlen = x, *this; }
  constexpr FmhaTraitWords& v_column(bool x = true) noexcept { return value.v_column = x, *this; }
  constexpr FmhaTraitWords& masked(bool x = true) noexcept { return value.masked = x, *this; }
  constexpr FmhaTraitWords& bias(FmhaBias x) noexcept { return value.bias = x, *this; }
  constexpr FmhaTraitWords& softcap(bool x = true) noexcept { return value.softcap = x, *this; }
  constexpr FmhaTraitWords& sink(bool x = true) noexcept { return value.sink = x, *this; }
  constexpr FmhaTraitWords& lse(bool x = true) noexcept { return value.lse = x, *this; }
  constexpr FmhaTraitWords& dropout(FmhaDropout x) noexcept { return value.dropout = x, *this; }
  constexpr FmhaTraitWords& quant(FmhaQuant x) noexcept { return value.quant = x, *this; }
  constexpr FmhaTraitWords& kv(FmhaKv x) noexcept { return value.kv = x, *this; }
  constexpr FmhaTraitWords& kv_layout(FmhaKvLayout x) noexcept { return value.kv_layout = x, *this; }
  constexpr FmhaTraitWords& rope(FmhaRope x) noexcept { return value.rope = x, *this; }
  constexpr operator FmhaTraits() const noexcept { return value; }
};
constexpr FmhaTraitWords attention() noexcept {
  return {};
}

constexpr void put(Signature& to, const FmhaTraitWords& words) noexcept {
  to.fmha = words.value;
}

struct FmhaConfigWords {
  FmhaConfig value{};

  /// Of Q and K; then of V.
  constexpr FmhaConfigWords& tile_qk(std::int32_t m0, std::int32_t n0, std::int32_t k0) noexcept {
    return value.m0 = m0, value.n0 = n0, value.k0 = k0, *this;
  }
  constexpr FmhaConfigWords& tile_v(std::int32_t n1, std::int32_t k1) noexcept {
    return value.n1 = n1, value.k1 = k1, *this;
  }
  constexpr FmhaConfigWords& hdims(std::int32_t q, std::int32_t v) noexcept {
    return value.hdim_q = q, value.hdim_v = v, *this;
  }
  constexpr FmhaConfigWords& pads(bool q, bool k) noexcept { return value.pad_q = q, value.pad_k = k, *this; }
  constexpr FmhaConfigWords& d_multiple(std::int32_t x) noexcept { return value.d_multiple = x, *this; }
  constexpr FmhaConfigWords& dv_multiple(std::int32_t x) noexcept { return value.dv_multiple = x, *this; }
  constexpr FmhaConfigWords& max_splits(std::int32_t x) noexcept { return value.max_splits = x, *this; }
  constexpr FmhaConfigWords& page_multiple(std::int32_t x) noexcept { return value.page_multiple = x, *this; }
  constexpr FmhaConfigWords& takes_items(bool x = true) noexcept { return value.takes_items = x, *this; }
  constexpr FmhaConfigWords& merge_heads(bool x = true) noexcept { return value.merge_heads = x, *this; }
  constexpr FmhaConfigWords& always_combines(bool x = true) noexcept { return value.always_combines = x, *this; }
  constexpr FmhaConfigWords& rotary_multiple(std::int32_t x) noexcept { return value.rotary_multiple = x, *this; }
  constexpr FmhaConfigWords& rows_together(std::int32_t x) noexcept { return value.rows_together = x, *this; }
  constexpr FmhaConfigWords& max_page(std::int32_t x) noexcept { return value.max_page = x, *this; }
  constexpr FmhaConfigWords& max_rows(std::int32_t x) noexcept { return value.max_rows = x, *this; }
  constexpr FmhaConfigWords& max_group(std::int32_t x) noexcept { return value.max_group = x, *this; }
  constexpr FmhaConfigWords& causal_only(bool x = true) noexcept { return value.causal_only = x, *this; }
  constexpr FmhaConfigWords& topleft_only(bool x = true) noexcept { return value.topleft_only = x, *this; }
  constexpr FmhaConfigWords& needs_keys(bool x = true) noexcept { return value.needs_keys = x, *this; }
  constexpr FmhaConfigWords& needs_finite(bool x = true) noexcept { return value.needs_finite = x, *this; }
  constexpr FmhaConfigWords& cache_limit(std::int64_t x) noexcept { return value.cache_limit = x, *this; }
  constexpr FmhaConfigWords& max_keys(std::int32_t x) noexcept { return value.max_keys = x, *this; }
  constexpr FmhaConfigWords& sink_tokens(bool x) noexcept { return value.sink_tokens = x, *this; }
  constexpr FmhaConfigWords& takes_gaps_q(bool x) noexcept { return value.takes_gaps_q = x, *this; }
  constexpr FmhaConfigWords& topleft_slopes(bool x) noexcept { return value.topleft_slopes = x, *this; }
  constexpr FmhaConfigWords& unordered_dq(bool x = true) noexcept { return value.unordered_dq = x, *this; }
  constexpr FmhaConfigWords& last_resort(bool x = true) noexcept { return value.last_resort = x, *this; }
  constexpr operator FmhaConfig() const noexcept { return value; }
};
constexpr FmhaConfigWords fmha_config() noexcept {
  return {};
}

constexpr void put(InstanceDesc& to, const FmhaConfigWords& words) noexcept {
  to.fmha = words.value;
}

/// Words of an FmhaRung. Of a problem without pages or mask these are not said.
struct FmhaRungWords {
  FmhaRung value;

  constexpr FmhaRungWords& batch(std::int32_t x) noexcept { return value.context.batch = x, *this; }
  constexpr FmhaRungWords& heads(std::int32_t q, std::int32_t k) noexcept {
    return value.context.heads_q = q, value.context.heads_k = k, *this;
  }
  constexpr FmhaRungWords& hdims(std::int32_t q, std::int32_t v) noexcept {
    return value.context.hdim_q = q, value.context.hdim_v = v, *this;
  }
  constexpr FmhaRungWords& page_size(std::int32_t x) noexcept { return value.context.page_size = x, *this; }
  constexpr FmhaRungWords& mask(FmhaCorner corner, std::int32_t left, std::int32_t right,
                                std::int32_t sink_tokens) noexcept {
    value.context.corner = corner;
    value.context.window_left = left;
    value.context.window_right = right;
    value.context.sink_tokens = sink_tokens;
    return *this;
  }
  constexpr operator FmhaRung() const noexcept { return value; }
};
/// Lengths that were measured, and won by an instance of the unit.
constexpr FmhaRungWords fmha_rung(std::int64_t seqlen_q, std::int64_t seqlen_k, std::uint16_t winner,
                                  KBatch splits = {1}) noexcept {
  return {{{0, 0, 0, 0, 0, 0, FmhaCorner::top_left, 0, 0, 0}, seqlen_q, seqlen_k, {winner, splits.value}}};
}

/// `sku`: the one product whose rows they are; null: of all.
template <std::size_t Count>
constexpr FmhaTable fmha_table(Arch arch, std::uint32_t cu_num, std::uint32_t near_add, std::uint32_t near_factor,
                               const FmhaRung (&rungs)[Count], const char* sku = nullptr) noexcept {
  return {arch, cu_num, near_add, near_factor, rungs, Count, sku};
}

}  // namespace describe
}  // namespace v1
}  // namespace ckgen
