#include "src/fmha/constants.hpp"

#include <ckgen/fmha_table.hpp>
#include <ckgen/product_data.hpp>

#include "src/operation/json_writer.hpp"

namespace ckgen::inline v1::detail {
namespace {

const FmhaTable& table_of(const SignatureUnit& unit, std::uint32_t at) noexcept {
  return static_cast<const FmhaTable*>(unit.own_tables)[at];
}

const char* flaw(const SignatureUnit& unit, const FmhaTable& table) noexcept {
  if (table.near_factor < 1) return "a table of attention has no gap";
  if (table.sku != nullptr && find_product(table.arch, table.cu_num, table.sku) == 0)
    return "a table of attention is of a product that is not known with its arch and count";
  for (std::uint32_t r = 0; r < table.rung_count; ++r) {
    if (table.rungs[r].choice.instance >= unit.instance_count) return "a choice points outside the instances";
    if (r > 0 && !(table.rungs[r - 1] < table.rungs[r])) return "rungs of attention do not ascend";
  }
  return nullptr;
}

void write(JsonWriter& to, const FmhaConfig& config) {
  to.key("m0").number(config.m0);
  to.key("n0").number(config.n0);
  to.key("k0").number(config.k0);
  to.key("n1").number(config.n1);
  to.key("k1").number(config.k1);
  to.key("hdim_q").number(config.hdim_q);
  to.key("hdim_v").number(config.hdim_v);
  to.key("pad_q").flag(config.pad_q);
  to.key("pad_k").flag(config.pad_k);
  to.key("d_multiple").number(config.d_multiple);
  to.key("dv_multiple").number(config.dv_multiple);
  to.key("max_splits").number(config.max_splits);
  to.key("page_multiple").number(config.page_multiple);
  to.key("takes_items").flag(config.takes_items);
  to.key("merge_heads").flag(config.merge_heads);
  to.key("always_combines").flag(config.always_combines);
  to.key("rotary_multiple").number(config.rotary_multiple);
  to.key("rows_together").number(config.rows_together);
  to.key("max_page").number(config.max_page);
  to.key("max_rows").number(config.max_rows);
  to.key("max_group").number(config.max_group);
  to.key("causal_only").flag(config.causal_only);
  to.key("topleft_only").flag(config.topleft_only);
  to.key("needs_keys").flag(config.needs_keys);
  to.key("needs_finite").flag(config.needs_finite);
  to.key("cache_limit").number(config.cache_limit);
  to.key("max_keys").number(config.max_keys);
  to.key("sink_tokens").flag(config.sink_tokens);
  to.key("takes_gaps_q").flag(config.takes_gaps_q);
  to.key("topleft_slopes").flag(config.topleft_slopes);
  to.key("unordered_dq").flag(config.unordered_dq);
  to.key("last_resort").flag(config.last_resort);
}

}  // namespace

/// Numbers that rules.hpp divides by and multiplies without overflow.
const char* fmha_instance_flaw(const InstanceDesc& instance) noexcept {
  constexpr std::int32_t most_tile = 4096, most_hdim = 256, most_v_tiles = 16, most_splits = 1 << 16;
  const FmhaConfig& c = instance.fmha;
  const auto within = [](std::int32_t size, std::int32_t least, std::int32_t most) {
    return size >= least && size <= most;
  };
  if (!within(c.m0, 1, most_tile) || !within(c.n0, 1, most_tile) || !within(c.k0, 1, most_tile) ||
      !within(c.n1, 1, most_hdim) || !within(c.k1, 1, most_tile) || c.hdim_v > most_v_tiles * c.n1)
    return "its attention tiles are out of range";
  if (!within(c.hdim_q, 1, most_hdim) || !within(c.hdim_v, 1, most_hdim) || !within(c.d_multiple, 0, most_hdim) ||
      !within(c.dv_multiple, 0, most_hdim))
    return "its head dimensions are out of range";
  if (!within(c.max_splits, 1, most_splits) || c.page_multiple < 1 || !within(c.rotary_multiple, 1, most_hdim) ||
      c.cache_limit < 0 || c.max_keys < 0)
    return "its splits, pages or rotation are out of range";
  if (c.max_page < 0 || c.max_rows < 0 || c.max_group < 0 || c.rows_together < 0)
    return "its limits of pages, rows or heads are below 0";
  return nullptr;
}

const char* fmha_unit_flaw(const SignatureUnit& unit) noexcept {
  for (std::uint32_t i = 0; i < unit.own_table_count; ++i) {
    if (const char* what = flaw(unit, table_of(unit, i))) return what;
  }
  return nullptr;
}

const char* not_attention_flaw(const InstanceDesc& instance) noexcept {
  return instance.fmha.m0 != 0 ? "only attention has attention's tiles" : nullptr;
}

const char* fmha_stages_flaw(const DeviceCode& code) noexcept {
  if (code.fmha == nullptr) return nullptr;
  const FmhaStages& stages = *code.fmha;
  if (stages.partials == nullptr) return "it has stages without a workspace of theirs";
  const int of_sums = int{stages.sums != nullptr} + int{stages.convert_dq != nullptr};
  const bool has_dq = stages.dq != nullptr, of_backward = of_sums != 0 || has_dq || stages.dot_do_o != nullptr ||
                                                          stages.sum_heads != nullptr || stages.dbias != nullptr ||
                                                          stages.dsink != nullptr;
  if (!of_backward)
    return stages.combine != nullptr ? nullptr : "it has only one of partial results and what combines them";
  const bool is_whole = stages.dot_do_o != nullptr && of_sums == (has_dq ? 0 : 2) && stages.combine == nullptr;
  return is_whole ? nullptr : "it has not all stages of one direction";
}

OwnTable fmha_table_of(const SignatureUnit& unit, std::uint32_t at) noexcept {
  const FmhaTable& table = table_of(unit, at);
  return {table.arch, &table};
}

bool is_known_fmha(const Signature& signature) noexcept {
  const FmhaTraits& traits = signature.fmha;
  return traits.entry <= FmhaEntry::backward && traits.bias <= FmhaBias::alibi &&
         traits.dropout <= FmhaDropout::randval && traits.kv <= FmhaKv::page_list && traits.rope <= FmhaRope::half &&
         signature.acc == DType::fp32 && signature.scale == DType::none;
}

void write_fmha(JsonWriter& to, const InstanceDesc& instance) {
  to.key("fmha").nested("{}", [&] { write(to, instance.fmha); });
}

}  // namespace ckgen::inline v1::detail
