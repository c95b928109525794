#include "src/fmha/cheapest.hpp"

#include <bit>
#include <new>

#include "src/fmha/cost.hpp"
#include "src/fmha/rules.hpp"
#include "src/registry/index.hpp"

namespace ckgen::inline v1::detail {

namespace {

/// What a problem may be or have that not every instance takes: rules of supports_fmha(), a bit each.
enum Fact : std::uint32_t {
  kVarlen = 1,
  kGapsQ = 2,
  kSinkTokens = 4,
  kSlopesFromTopLeft = 8,
  kNotCausal = 16,
  kFewKeys = 32,  // a sequence may have none
  kNoKeys = 64,   // none has any
  kNotFinite = 128,
};

constexpr std::uint32_t fact(bool holds, Fact bit) noexcept {
  return holds ? bit : 0U;
}

/// The numbers of an instance; `archs` is 0 where it answers nothing as a default. Bits that sizes may not have are
/// those below a power of two that they must be multiples of.
struct FmhaNote {
  std::uint32_t archs;
  std::uint32_t refused;  // facts
  std::int32_t least_q, most_q, least_v, most_v;
  std::int32_t bits_q, bits_v;
  std::int32_t rows_bits, keys_bits, page_bits;
  std::int32_t m0, n0;
  std::uint32_t column_cost;
  std::uint8_t parts_of_v, pads;
  bool merges_heads;
  bool is_whole;   // it costs whole_cost()
  bool asks_more;  // than stands here
};
static_assert(sizeof(FmhaNote) <= sizeof(DefaultNote));

constexpr bool is_power(std::int32_t step) noexcept {
  return (step & (step - 1)) == 0;
}

const FmhaNote& read(const DefaultNote& note) noexcept {
  return *std::launder(reinterpret_cast<const FmhaNote*>(note.bytes));
}

/// Head dims are multiples of a step up to the most, or of no step that one.
struct Heads {
  std::int32_t least, bits;
};
constexpr Heads heads_of(std::int32_t step, std::int32_t most) noexcept {
  return step == 0 ? Heads{most, 0} : Heads{1, is_power(step) ? step - 1 : 0};
}

std::uint32_t refused_facts(const FmhaConfig& c) noexcept {
  return fact(!c.pad_q || !c.pad_k, kVarlen) | fact(!c.takes_gaps_q, kGapsQ) | fact(!c.sink_tokens, kSinkTokens) |
         fact(!c.topleft_slopes, kSlopesFromTopLeft) | fact(c.causal_only, kNotCausal) | fact(c.needs_keys, kFewKeys) |
         fact(!c.pad_k, kNoKeys) | fact(c.needs_finite, kNotFinite);
}

/// Whether a rule asks more of a problem than heads, lengths and facts.
bool has_more(const FmhaConfig& c) noexcept {
  const bool steps = is_power(c.d_multiple) && is_power(c.dv_multiple) && is_power(c.m0) && is_power(c.n0) &&
                     is_power(c.page_multiple);
  return !steps || c.unordered_dq || c.cache_limit != 0 || (c.max_keys | c.max_page | c.max_rows | c.max_group) != 0;
}

std::uint32_t facts_of(const FmhaTraits& traits, const FmhaShape& x) noexcept {
  const std::int64_t least = has_lengths(traits) ? x.min_seqlen_k : x.seqlen_k;
  return fact(traits.varlen, kVarlen) | fact(traits.varlen && x.gaps_q, kGapsQ) |
         fact(traits.masked && x.sink_tokens != 0, kSinkTokens) |
         fact(!ends_at_last_key(traits, x), kSlopesFromTopLeft) | fact(!is_causal(traits, x), kNotCausal) |
         fact(least < 1, kFewKeys) | fact(x.seqlen_k == 0 && !appends(traits), kNoKeys) |
         fact(!x.finite_kv, kNotFinite);
}

/// A problem, asked of notes.
class FmhaScreen {
 public:
  FmhaScreen(const Request& q, const FmhaAsked& asked) noexcept
      : x_(q.problem.fmha()),
        asked_(asked),
        archs_(q.archs),
        facts_(facts_of(q.signature.fmha, x_)),
        rows_(appends(q.signature.fmha) ? 0 : x_.seqlen_q),
        keys_(appends(q.signature.fmha) ? 0 : x_.seqlen_k),
        page_(is_paged(q.signature.fmha) ? x_.page_size : 0) {}

  /// Whether nothing that stands in the note refuses the problem.
  bool passes(const FmhaNote& of) const noexcept {
    const bool heads = x_.hdim_q >= of.least_q && x_.hdim_q <= of.most_q && x_.hdim_v >= of.least_v &&
                       x_.hdim_v <= of.most_v && ((x_.hdim_q & of.bits_q) | (x_.hdim_v & of.bits_v)) == 0;
    return heads && (of.archs & archs_) != 0 && (of.refused & facts_) == 0 &&
           ((rows_ & of.rows_bits) | (keys_ & of.keys_bits) | (page_ & of.page_bits)) == 0;
  }

  /// For each head, whether one takes all or not.
  Wide workgroups(const FmhaNote& of) const noexcept {
    const std::int64_t rows = of.merges_heads ? x_.seqlen_q * asked_.group : x_.seqlen_q;
    const std::int32_t heads = of.merges_heads ? x_.heads_k : x_.heads_q;
    return Wide{tiles_over(static_cast<std::uint64_t>(rows), of.m0)} *
           (static_cast<std::uint64_t>(x_.batch) * static_cast<std::uint64_t>(heads) * of.parts_of_v);
  }

  /// No more than so many workgroups cost in any number of splits, times the compute units: all splits together compute
  /// the columns that rows see, and rounds are no fewer than share their workgroups.
  Wide bound(const FmhaNote& of, Wide workgroups) const noexcept {
    if (workgroups > kMostWorkgroups) return 0;
    return Wide{static_cast<std::uint64_t>(workgroups)} * (asked_.seen * of.column_cost);
  }

 private:
  const FmhaShape& x_;
  const FmhaAsked& asked_;
  std::uint32_t archs_, facts_;
  std::int64_t rows_, keys_;  // that fill tiles; append's are its own
  std::int32_t page_;
};

/// The least cost so far.
class Cheapest {
 public:
  Cheapest(const Request& q, const FmhaAsked& asked, const Entry& entry) noexcept
      : q_(q), asked_(asked), none_(entry.default_end), at_(none_) {}

  bool may_be(Wide bound) const noexcept { return at_ == none_ || bound <= asked_.cus.in_all(least_); }

  void take(std::uint32_t at, Wide cost, std::uint32_t splits) noexcept {
    if (at_ != none_ && (cost > least_ || (cost == least_ && at > at_))) return;
    at_ = at;
    splits_ = splits;
    least_ = cost;
  }

  void count(std::uint32_t at, const FmhaConfig& c) noexcept {
    const FmhaTraits& traits = q_.signature.fmha;
    if (appends(traits)) return take(at, fmha_append_cost(c, traits, q_.problem.fmha(), q_.cu_num), 1);
    const SplitCost own = best_splits(FmhaWork(c, asked_));
    take(at, own.cost, own.splits);
  }

  DefaultFound found() const noexcept { return {at_, {least_, splits_}}; }

 private:
  const Request& q_;
  const FmhaAsked& asked_;
  std::uint32_t none_, at_, splits_ = 1;
  Wide least_ = 0;
};

/// Defaults whose bounds are compared before costs are counted.
constexpr std::uint32_t kAtOnce = 64;

}  // namespace

DefaultNote fmha_note(const InstanceDesc& instance) noexcept {
  const FmhaConfig& c = instance.fmha;
  const Heads q = heads_of(c.d_multiple, c.hdim_q), v = heads_of(c.dv_multiple, c.hdim_v);
  DefaultNote kept{};
  FmhaNote& note = *new (kept.bytes) FmhaNote{};
  note.archs = instance.constraints.measured_only ? 0 : instance.archs;
  note.refused = refused_facts(c);
  note.least_q = q.least, note.most_q = c.hdim_q, note.bits_q = q.bits;
  note.least_v = v.least, note.most_v = c.hdim_v, note.bits_v = v.bits;
  note.rows_bits = c.pad_q || !is_power(c.m0) ? 0 : c.m0 - 1;
  note.keys_bits = c.pad_k || !is_power(c.n0) ? 0 : c.n0 - 1;
  note.page_bits = is_power(c.page_multiple) ? c.page_multiple - 1 : 0;
  note.m0 = c.m0, note.n0 = c.n0;
  note.column_cost = static_cast<std::uint32_t>(column_cost(c));
  note.parts_of_v = static_cast<std::uint8_t>(parts_of_v(c));
  note.pads = static_cast<std::uint8_t>(pads_of(c));
  note.is_whole = c.max_splits == 1 && c.rows_together == 0 && !c.always_combines && !c.takes_items;
  note.merges_heads = c.merge_heads;
  note.asks_more = has_more(c);
  return kept;
}

DefaultFound cheapest_fmha(const Request& q, const Entry& entry, const Sizes& of) noexcept {
  const FmhaTraits& traits = q.signature.fmha;
  const FmhaShape& x = q.problem.fmha();
  const FmhaAsked asked(traits, x, q.cu_num, static_cast<std::uint64_t>(of.n));
  const FmhaScreen screen(q, asked);
  const bool adds = appends(traits), all_ask = adds || x.split_items != 0;
  const DefaultNote* const notes = q.index.notes(entry);
  const auto config = [&](std::uint32_t at) -> const FmhaConfig& {
    return q.state.instances[q.index.default_instance(at)]->fmha;
  };
  Cheapest cheapest(q, asked, entry);
  for (std::uint32_t begin = entry.default_begin; begin < entry.default_end; begin += kAtOnce) {
    const std::uint32_t count = std::min(kAtOnce, entry.default_end - begin);
    std::uint64_t open = 0;  // bit i: begin + i takes the problem
    std::uint32_t first = 0;
    Wide bounds[kAtOnce], least = ~Wide{0};
    for (std::uint32_t i = 0; i < count; ++i) {
      const FmhaNote& note = read(notes[begin - entry.default_begin + i]);
      if (!screen.passes(note)) continue;
      if ((all_ask || note.asks_more) && !fmha_verdict<Fits>(q, config(begin + i), 1).ok()) continue;
      const Wide workgroups = screen.workgroups(note);
      if (note.is_whole && workgroups <= kMostWorkgroups && !adds) {
        const auto launched = static_cast<std::uint64_t>(workgroups);
        cheapest.take(begin + i, whole_cost(asked, launched, note.n0, note.column_cost, note.pads), 1);
        continue;
      }
      open |= std::uint64_t{1} << i;
      bounds[i] = adds ? 0 : screen.bound(note, workgroups);
      if (bounds[i] <= least) first = i, least = bounds[i];
    }
    if (open == 0) continue;
    if (cheapest.may_be(least)) cheapest.count(begin + first, config(begin + first));
    for (open &= ~(std::uint64_t{1} << first); open != 0; open &= open - 1) {
      const auto i = static_cast<std::uint32_t>(std::countr_zero(open));
      if (cheapest.may_be(bounds[i])) cheapest.count(begin + i, config(begin + i));
    }
  }
  return cheapest.found();
}

}  // namespace ckgen::inline v1::detail
