#include "src/fmha/measured.hpp"

#include <ckgen/fmha_table.hpp>
#include <ckgen/product_data.hpp>

#include "src/fmha/cost.hpp"
#include "src/operation/target_text.hpp"
#include "src/registry/index.hpp"

namespace ckgen::inline v1::detail {

namespace {

/// Whether its rows are of devices like the request's.
bool answers(const FmhaTable& table, const Request& q) noexcept {
  if (table.cu_num != q.cu_num) return false;
  return table.sku == nullptr || (q.product != 0 && find_product(q.arch, q.cu_num, table.sku) == q.product);
}

}  // namespace

std::uint32_t fmha_row_splits(const Request& q, const InstanceDesc& instance, std::uint32_t k_batch) noexcept {
  const FmhaShape& x = q.problem.fmha();
  if (k_batch != 0 && x.split_items == 0) return k_batch;
  return best_splits(instance.fmha, q.signature.fmha, x, q.cu_num).splits;
}

void hash_fmha_table(const void* of, ShapeHash& hash) noexcept {
  const FmhaTable& table = *static_cast<const FmhaTable*>(of);
  hash.add(static_cast<int>(table.arch), table.cu_num);
  if (table.sku != nullptr) hash.add(find_product(table.arch, table.cu_num, table.sku), 0);
  hash.add(table.near_add, table.near_factor);
  for (std::uint32_t i = 0; i < table.rung_count; ++i) {
    const FmhaRung& rung = table.rungs[i];
    const FmhaContext& c = rung.context;
    hash.add(c.batch, c.heads_q);
    hash.add(c.heads_k, c.hdim_q);
    hash.add(c.hdim_v, c.page_size);
    hash.add(static_cast<int>(c.corner), c.sink_tokens);
    hash.add(c.window_left, c.window_right);
    hash.add(rung.seqlen_q, rung.seqlen_k);
    hash.add(rung.choice.instance, rung.choice.k_batch);
  }
}

bool next_fmha_row(const Request& q, const Entry& entry, std::uint32_t& at, Candidate& found) noexcept {
  const FmhaTraits& traits = q.signature.fmha;
  const FmhaShape& x = q.problem.fmha();
  const std::uint32_t count = entry.own_table_end - entry.own_table_begin;
  while (at < 2 * count) {  // those of the device's product, then those of all
    const bool of_product = at < count;
    const OwnTableRef& ref = q.index.own_table(entry.own_table_begin + at++ % count);
    const FmhaTable& table = *static_cast<const FmhaTable*>(ref.table);
    if ((table.sku != nullptr) != of_product || !answers(table, q)) continue;
    const FmhaRung* rung = find_rung(table, fmha_context(traits, x), x.seqlen_q, x.seqlen_k);
    if (rung == nullptr) continue;
    const std::uint32_t index = ref.instance_base + rung->choice.instance;
    const bool is_exact = rung->seqlen_q == x.seqlen_q && rung->seqlen_k == x.seqlen_k;
    const std::uint32_t k_batch = fmha_row_splits(q, *q.state.instances[index], rung->choice.k_batch);
    found = {is_exact ? Tier::exact : Tier::near_, index, k_batch, static_cast<std::uint64_t>(rung->seqlen_k),
             q.cu_num};
    return true;
  }
  return false;
}

std::string fmha_absent_row(const Request& q, const Entry& entry, Tier tier) {
  if (entry.own_table_begin == entry.own_table_end || tier == Tier::heuristic || tier == Tier::predicted ||
      tier == Tier::default_)
    return {};
  if (tier == Tier::far_ || tier == Tier::other_cu) return "not asked of attention";
  for (std::uint32_t i = entry.own_table_begin; i < entry.own_table_end; ++i) {
    if (answers(*static_cast<const FmhaTable*>(q.index.own_table(i).table), q))
      return tier == Tier::exact ? "no row for these sizes" : "no row for lengths near these";
  }
  return "no table for " + target_text(q);
}

}  // namespace ckgen::inline v1::detail
