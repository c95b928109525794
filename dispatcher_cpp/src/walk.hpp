// The walk of docs/selection.md, once, for everyone who follows it: select, next, explain.
#pragma once

#include <string_view>
#include <utility>

#include "fmha_cost.hpp"
#include "ladder.hpp"
#include "query.hpp"
#include "tiling.hpp"

namespace ckgen::inline v1::detail {

/// One thing that the walk tries. `table_m`: the measured size that names it, 0 where no row did; `cu_num`: its
/// table's.
struct Candidate {
  Tier tier;
  std::uint32_t instance;
  std::uint32_t k_batch;
  std::uint64_t table_m;
  std::uint32_t cu_num = 0;
};

/// `Sink` has `bool offer(const Candidate&, const Verdict&)`, true ending the walk, and
/// `void external(std::uint32_t, const Hit&)` for the kernel of another library that is the table's winner.
template <class Sink>
class Walk {
 public:
  Walk(const Query& query, Sink& sink) noexcept : q_(query), sink_(sink) {}

  void run() noexcept(kNoThrow) {
    if (q_.is_forced) {
      if (q_.forced != no_index) foreign(Tier::forced, q_.forced, splits_of(*q_.state.instances[q_.forced]), 0);
      return;
    }
    if (q_.overrides != nullptr && from_overrides()) return;
    entry_ = q_.index.find(q_.signature, q_.arch);
    if (entry_ == nullptr) return;
    if (q_.signature.op == Op::fmha) [[unlikely]] {
      static_cast<void>(from_measured() || from_defaults());
      return;
    }
    find_tables();
    static_cast<void>(from_tables() || from_heuristics() || from_far() || from_other_cu() || from_defaults());
  }

 private:
  // Rare steps are kept out of line: the measured path then stays small enough to inline.
  // A sink that keeps a trail may run out of memory.
  static constexpr bool kNoThrow = noexcept(std::declval<Sink&>().offer(Candidate{}, Verdict{}));

  bool offer(Tier tier, std::uint32_t instance, std::uint32_t k_batch, std::uint64_t table_m) noexcept(kNoThrow) {
    return sink_.offer({tier, instance, k_batch, table_m, q_.cu_num},
                       q_.verdict(*q_.state.instances[instance], k_batch));
  }

  bool foreign(Tier tier, std::uint32_t instance, std::uint32_t k_batch, std::uint64_t table_m) noexcept(kNoThrow) {
    return sink_.offer({tier, instance, k_batch, table_m, q_.cu_num},
                       q_.foreign_verdict(*q_.state.instances[instance], k_batch));
  }

  [[gnu::noinline]] bool from_overrides() noexcept(kNoThrow) {
    const Override* row =
        q_.overrides->find(q_.signature, q_.arch, q_.cu_num, q_.key_batch(), q_.sizes, q_.problem.fmha());
    return row != nullptr && foreign(Tier::override_, row->instance, row->k_batch, 0);
  }

  /// Rows of attention, whose table_m is the number of keys.
  [[gnu::noinline]] bool from_measured() noexcept(kNoThrow) {
    const FmhaShape& x = q_.problem.fmha();
    for (std::uint32_t i = entry_->fmha_begin; i < entry_->fmha_end; ++i) {
      const FmhaTableRef& ref = q_.index.fmha_table(i);
      if (ref.table->cu_num != q_.cu_num) continue;
      const FmhaRung* rung = find_rung(*ref.table, fmha_context(q_.signature.fmha, x), x.seqlen_q, x.seqlen_k);
      if (rung == nullptr) continue;
      const std::uint32_t index = ref.instance_base + rung->choice.instance;
      const bool is_exact = rung->seqlen_q == x.seqlen_q && rung->seqlen_k == x.seqlen_k;
      const bool says = rung->choice.k_batch != 0 && x.split_items == 0;
      const std::uint32_t k_batch = says ? rung->choice.k_batch : splits_of(*q_.state.instances[index]);
      if (offer(is_exact ? Tier::exact : Tier::near_, index, k_batch, static_cast<std::uint64_t>(rung->seqlen_k)))
        return true;
    }
    return false;
  }

  void find_tables() noexcept {
    own_begin_ = own_end_ = entry_->table_begin;
    for (std::uint32_t i = entry_->table_begin; i < entry_->table_end; ++i) {  // counted, as branches would mispredict
      const std::uint32_t cu_num = q_.index.table(i).cu_num;
      own_begin_ += cu_num < q_.cu_num ? 1 : 0;
      own_end_ += cu_num <= q_.cu_num ? 1 : 0;
    }
  }

  const Group* group_of(const LookupTable& table) const noexcept {
    return find_group(table, static_cast<std::uint64_t>(q_.sizes.n), static_cast<std::uint64_t>(q_.sizes.k),
                      static_cast<std::uint64_t>(q_.key_batch()));
  }

  bool rung(const TableRef& ref, const Hit& hit) noexcept(kNoThrow) {
    const Choice& choice = ref.table->choices[hit.choice];
    return offer(hit.tier, ref.instance_base + choice.instance, choice.k_batch, hit.m);
  }

  /// The user's instance for an external winner, where the user gave one. The kernel decides about K splits.
  bool provided(const TableRef& ref, const Hit& winner) noexcept(kNoThrow) {
    const std::uint32_t instance = q_.state.providers[ref.externals[winner.choice]];
    return instance != no_index && foreign(winner.tier, instance, 0, winner.m);
  }

  /// The table's winner if it is external; told to the sink.
  Hit external_winner(const TableRef& ref, const Group& group, const Hit& peer) noexcept(kNoThrow) {
    if (group.external_count == 0) return {};
    const LookupTable& table = *ref.table;
    const Hit winner =
        peer ? peer : table_winner(own_ladder(table, group), external_ladder(table, group), m(), gap_of(table));
    if (!winner.external) return {};
    sink_.external(ref.externals[winner.choice], winner);
    return winner;
  }

  Hit peer_of(const LookupTable& table, const Group& group) const noexcept {
    if (table.policy->kernel_m_count == 0) return {};
    return peer_winner(own_ladder(table, group), external_ladder(table, group), table.policy->kernel_m,
                       table.policy->kernel_m_count, m(), static_cast<std::uint64_t>(q_.sizes.n));
  }

  bool from_tables() noexcept(kNoThrow) {
    for (std::uint32_t i = own_begin_; i < own_end_; ++i) {
      const TableRef& ref = q_.index.table(i);
      const LookupTable& table = *ref.table;
      const Group* group = group_of(table);
      if (group == nullptr) continue;
      if (table.policy->kernel_m_count != 0) {
        if (from_peer_policy(ref, *group)) return true;
        continue;
      }
      const Hit hit = rounded_up(own_ladder(table, *group), m(), gap_of(table));
      if (hit.tier != Tier::exact) {  // an exact rung of its own is the winner
        const Hit winner = external_winner(ref, *group, {});
        if (winner && winner.tier != Tier::far_ && provided(ref, winner)) return true;
      }
      if (hit && rung(ref, hit)) return true;
    }
    return false;
  }

  [[gnu::noinline]] bool from_peer_policy(const TableRef& ref, const Group& group) noexcept(kNoThrow) {
    const Hit peer = peer_of(*ref.table, group);
    const Hit winner = external_winner(ref, group, peer);
    if (winner && winner.tier != Tier::far_ && provided(ref, winner)) return true;
    return peer && !peer.external && peer_rung(ref, group, peer);
  }

  /// The peer takes k_batch from the row that a rounding of its own finds, if that row can run.
  bool peer_rung(const TableRef& ref, const Group& group, const Hit& hit) noexcept(kNoThrow) {
    const LookupTable& table = *ref.table;
    const Choice& choice = table.choices[hit.choice];
    const Hit split = peer_winner(own_ladder(table, group), external_ladder(table, group), table.policy->split_k_m,
                                  table.policy->split_k_m_count, m(), static_cast<std::uint64_t>(q_.sizes.n));
    const std::uint32_t k_batch = split && !split.external ? table.choices[split.choice].k_batch : choice.k_batch;
    return offer(hit.tier, ref.instance_base + choice.instance, k_batch, hit.m);
  }

  [[gnu::noinline]] bool from_heuristics() noexcept(kNoThrow) {
    for (std::uint32_t i = entry_->heuristic_begin; i < entry_->heuristic_end; ++i) {
      const HeuristicRef& ref = q_.index.heuristic(i);
      for (std::uint32_t a = 0; a < ref.heuristic->arm_count; ++a) {
        const Arm& arm = ref.heuristic->arms[a];
        if (!holds(arm)) continue;
        if (offer(Tier::heuristic, ref.instance_base + arm.choice.instance, 1, 0)) return true;
        break;
      }
    }
    return false;
  }

  bool holds(const Arm& arm) const noexcept {
    for (std::uint32_t i = 0; i < arm.condition_count; ++i) {
      const Condition& c = arm.conditions[i];
      const std::int64_t value = c.feature == Feature::m   ? q_.sizes.m
                                 : c.feature == Feature::n ? q_.sizes.n
                                 : c.feature == Feature::k ? q_.sizes.k
                                                           : q_.sizes.m * q_.sizes.n;
      const bool ok = c.compare == Compare::le   ? value <= c.value
                      : c.compare == Compare::lt ? value < c.value
                      : c.compare == Compare::eq ? value == c.value
                                                 : value != c.value;
      if (!ok) return false;
    }
    return true;
  }

  [[gnu::noinline]] bool from_far() noexcept(kNoThrow) {
    for (std::uint32_t i = own_begin_; i < own_end_; ++i) {
      const TableRef& ref = q_.index.table(i);
      const Group* group = group_of(*ref.table);
      if (group == nullptr) continue;
      if (group->external_count != 0) {
        const Hit winner = external_winner(ref, *group, peer_of(*ref.table, *group));
        if (winner && winner.tier == Tier::far_ && provided(ref, winner)) return true;
      }
      const FarHits hits = far_rungs(own_ladder(*ref.table, *group), m(), gap_of(*ref.table));
      if (hits.first && rung(ref, hits.first)) return true;
      if (hits.second && rung(ref, hits.second)) return true;
    }
    return false;
  }

  [[gnu::noinline]] bool from_other_cu() noexcept(kNoThrow) {
    std::uint32_t low = own_begin_;
    std::uint32_t high = own_end_;
    while (low > entry_->table_begin || high < entry_->table_end) {
      const bool any_low = low > entry_->table_begin;
      const bool any_high = high < entry_->table_end;
      const std::uint32_t down = any_low ? q_.cu_num - q_.index.table(low - 1).cu_num : 0;
      const std::uint32_t up = any_high ? q_.index.table(high).cu_num - q_.cu_num : 0;
      const bool take_high = any_high && (!any_low || up <= down);
      if (from_other(q_.index.table(take_high ? high++ : --low))) return true;
    }
    return false;
  }

  bool from_other(const TableRef& ref) noexcept(kNoThrow) {
    const Group* group = group_of(*ref.table);
    if (group == nullptr) return false;
    const Ladder ladder = own_ladder(*ref.table, *group);
    const NearGap gap = gap_of(*ref.table);
    const Hit up = rounded_up(ladder, m(), gap);
    const FarHits far = far_rungs(ladder, m(), gap);
    for (const Hit& hit : {up, far.first, far.second}) {
      if (hit && other_rung(ref, hit)) return true;
    }
    return false;
  }

  bool other_rung(const TableRef& ref, const Hit& hit) noexcept(kNoThrow) {
    const std::uint32_t index = ref.instance_base + ref.table->choices[hit.choice].instance;
    const InstanceDesc& instance = *q_.state.instances[index];
    std::uint32_t k_batch = recomputed_k_batch(instance, q_.cost_sizes(), q_.cu_num);
    Verdict verdict = undeclined(instance, k_batch);
    for (; !verdict.ok() && k_batch > 1; verdict = undeclined(instance, k_batch)) k_batch /= 2;
    return sink_.offer({Tier::other_cu, index, k_batch, hit.m, ref.cu_num}, verdict);
  }

  /// The verdict, but no for a kernel of ckgen's own where a row leaves its work to the caller's.
  Verdict undeclined(const InstanceDesc& instance, std::uint32_t k_batch) const noexcept {
    const Verdict verdict = q_.verdict(instance, k_batch);
    if (!verdict.ok() || instance.backend != Backend::hip) return verdict;
    if (q_.signature.op == Op::moe) return products_verdict(instance);
    return is_declined() ? broken(ProblemRule::gemm_instance_declined, q_.sizes.m, 0) : verdict;
  }

  /// Of experts: by the rows of the instance's product; of a layer by those of either one.
  [[gnu::noinline]] Verdict products_verdict(const InstanceDesc& instance) const noexcept {
    const Sizes& s = q_.sizes;
    if (instance.parts[0] == 0) return product_verdict(instance.signature, s.n, s.k);
    for (const std::uint64_t id : instance.parts) {
      const auto found = q_.state.by_id.find(id);
      if (found == q_.state.by_id.end()) continue;
      const Signature& part = q_.state.instances[found->second]->signature;
      const bool down = part.moe.part == MoePart::down;
      const Verdict verdict = product_verdict(part, down ? s.k : s.n, down ? s.n : s.k);
      if (!verdict.ok()) return verdict;
    }
    return {};
  }

  /// By the row of a product's rows of B and K, whatever M and the routing: it is of batch 0, as no routing is.
  Verdict product_verdict(const Signature& signature, std::int64_t n, std::int64_t k) const noexcept {
    const std::int64_t rows = n * (signature.moe.gated ? 2 : 1);
    const Entry* entry = q_.index.find(signature, q_.arch);
    if (entry == nullptr) return {};
    for (std::uint32_t i = entry->table_begin; i < entry->table_end; ++i) {
      const LookupTable& table = *q_.index.table(i).table;
      if (table.cu_num != q_.cu_num) continue;
      const Group* group = find_group(table, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(k), 0);
      if (group == nullptr || group->external_count == 0) continue;
      const ExternalKernel& kernel = table.externals[table.external_rungs[group->external_begin].choice];
      if (std::string_view(kernel.library) == callers_own) return broken(ProblemRule::moe_declined, rows, k);
    }
    return {};
  }

  /// By the row of exactly this M.
  bool is_declined() const noexcept {
    for (std::uint32_t i = own_begin_; i < own_end_; ++i) {
      const LookupTable& table = *q_.index.table(i).table;
      const Group* group = group_of(table);
      if (group == nullptr) continue;
      const Hit hit = rounded_up(external_ladder(table, *group), m(), gap_of(table));
      if (hit && hit.tier == Tier::exact && std::string_view(table.externals[hit.choice].library) == callers_own)
        return true;
    }
    return false;
  }

  /// First what is rejected, then what is left by cost, ties to the earlier.
  [[gnu::noinline]] bool from_defaults() noexcept(kNoThrow) {
    const std::uint32_t none = entry_->default_end;
    const Sizes sizes = q_.cost_sizes();
    FmhaSplits best_cost;
    std::uint32_t best = none;
    for (std::uint32_t i = entry_->default_begin; i < none; ++i) {
      const std::uint32_t index = q_.index.default_instance(i);
      const InstanceDesc& instance = *q_.state.instances[index];
      const Verdict verdict = undeclined(instance, 1);
      if (!verdict.ok()) {
        if (sink_.offer({Tier::default_, index, 1, 0}, verdict)) return true;
        continue;
      }
      const FmhaSplits found = own_cost(index, sizes);
      if (best == none || found.cost < best_cost.cost) {
        best = i;
        best_cost = found;
      }
    }
    while (best != none) {
      if (sink_.offer({Tier::default_, q_.index.default_instance(best), best_cost.splits, 0}, {})) return true;
      best = next_default(best, best_cost);
    }
    return false;
  }

  /// The default that follows position `last` of that cost in the order of (cost, position); updates the cost.
  std::uint32_t next_default(std::uint32_t last, FmhaSplits& of_last) const noexcept {
    const std::uint32_t none = entry_->default_end;
    const Sizes sizes = q_.cost_sizes();
    std::uint32_t best = none;
    FmhaSplits best_cost;
    for (std::uint32_t i = entry_->default_begin; i < none; ++i) {
      const std::uint32_t index = q_.index.default_instance(i);
      if (!undeclined(*q_.state.instances[index], 1).ok()) continue;
      const FmhaSplits own = own_cost(index, sizes);
      const bool behind = own.cost > of_last.cost || (own.cost == of_last.cost && i > last);
      if (behind && (best == none || own.cost < best_cost.cost)) {
        best = i;
        best_cost = own;
      }
    }
    of_last = best_cost;
    return best;
  }

  /// The cost, with the splits of keys of attention; of any other op one split of K.
  FmhaSplits own_cost(std::uint32_t index, const Sizes& sizes) const noexcept {
    const InstanceDesc& instance = *q_.state.instances[index];
    if (q_.signature.op == Op::fmha) [[unlikely]]
      return best_splits(instance.fmha, q_.signature.fmha, q_.problem.fmha(), q_.cu_num);
    return {default_cost(instance, sizes, q_.cu_num), 1};
  }

  /// Of an instance that was named, of whatever op.
  std::uint32_t splits_of(const InstanceDesc& instance) const noexcept {
    if (q_.signature.op != Op::fmha || instance.signature.op != Op::fmha) return 1;
    return best_splits(instance.fmha, q_.signature.fmha, q_.problem.fmha(), q_.cu_num).splits;
  }

  std::uint64_t m() const noexcept { return static_cast<std::uint64_t>(q_.sizes.m); }

  const Query& q_;
  Sink& sink_;
  const Entry* entry_ = nullptr;
  std::uint32_t own_begin_ = 0;
  std::uint32_t own_end_ = 0;
};

template <class Sink>
void walk(const Query& query, Sink& sink) {
  Walk<Sink>(query, sink).run();
}

}  // namespace ckgen::inline v1::detail
