#include "src/fmha/measured.hpp"

#include "src/fmha/cost.hpp"
#include "src/registry/index.hpp"

namespace ckgen::inline v1::detail {

bool next_fmha_row(const Request& q, const Entry& entry, std::uint32_t& at, Candidate& found) noexcept {
  const FmhaTraits& traits = q.signature.fmha;
  const FmhaShape& x = q.problem.fmha();
  while (entry.fmha_begin + at < entry.fmha_end) {
    const FmhaTableRef& ref = q.index.fmha_table(entry.fmha_begin + at++);
    if (ref.table->cu_num != q.cu_num) continue;
    const FmhaRung* rung = find_rung(*ref.table, fmha_context(traits, x), x.seqlen_q, x.seqlen_k);
    if (rung == nullptr) continue;
    const std::uint32_t index = ref.instance_base + rung->choice.instance;
    const bool is_exact = rung->seqlen_q == x.seqlen_q && rung->seqlen_k == x.seqlen_k;
    const bool says = rung->choice.k_batch != 0 && x.split_items == 0;
    const std::uint32_t k_batch =
        says ? rung->choice.k_batch : best_splits(q.state.instances[index]->fmha, traits, x, q.cu_num).splits;
    found = {is_exact ? Tier::exact : Tier::near_, index, k_batch, static_cast<std::uint64_t>(rung->seqlen_k),
             q.cu_num};
    return true;
  }
  return false;
}

std::string fmha_absent_row(const Request& q, const Entry& entry, Tier tier) {
  if (entry.fmha_begin == entry.fmha_end || tier == Tier::heuristic || tier == Tier::default_) return {};
  if (tier == Tier::far_ || tier == Tier::other_cu) return "not asked of attention";
  for (std::uint32_t i = entry.fmha_begin; i < entry.fmha_end; ++i) {
    if (q.index.fmha_table(i).table->cu_num == q.cu_num)
      return tier == Tier::exact ? "no row for these sizes" : "no row for lengths near these";
  }
  return "no table for " + std::string(arch_name(q.arch)) + ':' + std::to_string(q.cu_num);
}

}  // namespace ckgen::inline v1::detail
