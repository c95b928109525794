// The steps exact and near of attention, whose tables have rows by both lengths, and splits of keys for k_batch.
#pragma once

#include "src/fmha/cost.hpp"
#include "src/select/walk_state.hpp"

namespace ckgen::inline v1::detail {

/// k_batch of an instance that was named, of whatever op.
inline std::uint32_t splits_of(const Query& q, const InstanceDesc& instance) noexcept {
  if (q.signature.op != Op::fmha || instance.signature.op != Op::fmha) return 1;
  return best_splits(instance.fmha, q.signature.fmha, q.problem.fmha(), q.cu_num).splits;
}

/// table_m is the number of keys.
template <class Sink>
[[gnu::noinline]] bool from_fmha_tables(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  const FmhaShape& x = w.q.problem.fmha();
  for (std::uint32_t i = w.entry->fmha_begin; i < w.entry->fmha_end; ++i) {
    const FmhaTableRef& ref = w.q.index.fmha_table(i);
    if (ref.table->cu_num != w.q.cu_num) continue;
    const FmhaRung* rung = find_rung(*ref.table, fmha_context(w.q.signature.fmha, x), x.seqlen_q, x.seqlen_k);
    if (rung == nullptr) continue;
    const std::uint32_t index = ref.instance_base + rung->choice.instance;
    const bool is_exact = rung->seqlen_q == x.seqlen_q && rung->seqlen_k == x.seqlen_k;
    const bool says = rung->choice.k_batch != 0 && x.split_items == 0;
    const std::uint32_t k_batch = says ? rung->choice.k_batch : splits_of(w.q, w.instance(index));
    if (w.offer(is_exact ? Tier::exact : Tier::near_, index, k_batch, static_cast<std::uint64_t>(rung->seqlen_k)))
      return true;
  }
  return false;
}

}  // namespace ckgen::inline v1::detail
