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
  kNotCausalTopLeft = 256,
};

constexpr std::uint32_t fact(bool holds, Fact bit) noexcept {
  return holds ? bit : 0U;
}

/// A 16-bit number each for whether Q's heads are no smaller than the least that is taken and no larger than the most,
/// then V's: kOrdered is added, whose bits stay where that is so.
constexpr std::uint64_t kOrdered = 0x8000'8000'8000'8000;

constexpr std::uint64_t four(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d) noexcept {
  const auto at = [](std::int32_t value, int place) {
    return static_cast<std::uint64_t>(std::int64_t{value}) << place;
  };
  return at(a, 0) + at(b, 16) + at(c, 32) + at(d, 48);
}

/// Bits of numbers that must be 0, beside facts: of each as many as steps of it have that are powers of two. A page has
/// fewer than twelve, so it is no multiple of what has more.
constexpr std::uint64_t bits_of(std::uint32_t facts, std::int64_t q, std::int64_t v, std::int64_t rows,
                                std::int64_t keys, std::int64_t page) noexcept {
  const auto low = [](std::int64_t value, int bits) { return static_cast<std::uint64_t>(value) & ((1U << bits) - 1); };
  return facts | low(q, 8) << 12 | low(v, 8) << 20 | low(rows, 12) << 28 | low(keys, 12) << 40 | low(page, 12) << 52;
}

enum class Known : std::uint8_t {
  least,    // what it costs no less than, whatever its splits
  cost,     // what it costs: it neither splits keys nor combines
  nothing,  // nothing
};

/// The numbers of an instance; `archs` is 0 where it answers nothing as a default.
struct FmhaNote {
  std::uint64_t heads;  // four()
  std::uint64_t never;  // bits_of()
  std::uint32_t archs;
  std::uint32_t column_cost;
  std::uint32_t m0;
  std::uint32_t n0_bits;  // below n0
  std::uint8_t m0_shift, parts_of_v, pads;
  Known known;
  bool merges_heads;
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
         fact(!c.pad_k, kNoKeys) | fact(c.needs_finite, kNotFinite) | fact(c.topleft_only, kNotCausalTopLeft);
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
         fact(!has_corner(traits, x, FmhaCorner::bottom_right), kSlopesFromTopLeft) |
         fact(!is_causal(traits, x, FmhaCorner::bottom_right), kNotCausal) |
         fact(!is_causal(traits, x, FmhaCorner::top_left), kNotCausalTopLeft) | fact(least < 1, kFewKeys) |
         fact(x.seqlen_k == 0 && !appends(traits), kNoKeys) | fact(!x.finite_kv, kNotFinite);
}

/// Rows of Q times lines of them times columns of which all costs fit a word, and what the columns of a workgroup may
/// cost for that.
constexpr int kWordBits = 41, kCostBits = 22;

/// What of an instance's cost its note gives.
Known known_of(const FmhaConfig& c) noexcept {
  if (!is_power(c.m0) || !is_power(c.n0) || (column_cost(c) * parts_of_v(c)) >> kCostBits != 0) return Known::nothing;
  const bool is_whole =
      c.max_splits == 1 && c.rows_together == 0 && !c.always_combines && !c.takes_items && !c.last_resort;
  return is_whole ? Known::cost : Known::least;
}

/// A problem, asked of notes.
class FmhaScreen {
 public:
  FmhaScreen(const Request& q, const FmhaAsked& asked) noexcept : asked_(asked), archs_(q.archs) {
    const FmhaTraits& traits = q.signature.fmha;
    const FmhaShape& x = q.problem.fmha();
    const bool adds = appends(traits);  // its rows and keys fill no tiles
    heads_ = four(x.hdim_q, -x.hdim_q, x.hdim_v, -x.hdim_v);
    bits_ = bits_of(facts_of(traits, x), x.hdim_q, x.hdim_v, adds ? 0 : x.seqlen_q, adds ? 0 : x.seqlen_k,
                    is_paged(traits) ? x.page_size : 0);
    const auto rows = static_cast<std::uint64_t>(x.seqlen_q), batch = static_cast<std::uint64_t>(x.batch);
    of_[0] = {rows, batch * static_cast<std::uint64_t>(x.heads_q)};
    of_[1] = {rows * static_cast<std::uint64_t>(asked.group), batch * static_cast<std::uint64_t>(x.heads_k)};
    constexpr std::uint64_t most_n0 = 4096;
    fits_words_ = Wide{rows * (asked.seen + most_n0)} * of_[0].lines >> kWordBits == 0;
  }

  /// Bit i: nothing that stands in note i refuses the problem; of at most 64.
  std::uint64_t passing(const DefaultNote* notes, std::uint32_t count) const noexcept {
    const std::uint64_t heads = heads_, bits = bits_;
    const std::uint32_t archs = archs_;
    std::uint64_t found = 0;
    for (std::uint64_t bit = 1; count != 0; --count, ++notes, bit <<= 1) {
      const FmhaNote& of = read(*notes);
      if ((~(of.heads + heads) & kOrdered) != 0 || (of.never & bits) != 0 || (of.archs & archs) == 0) continue;
      found |= bit;
    }
    return found;
  }

  /// Whether bound() and cost() are right.
  bool fits_words() const noexcept { return fits_words_; }

  /// No more than it costs in any number of splits, times the compute units: all splits together compute the columns
  /// that rows see, and rounds are no fewer than share their workgroups.
  std::uint64_t bound(const FmhaNote& of) const noexcept {
    return of.known == Known::nothing ? 0 : workgroups(of) * (asked_.seen * of.column_cost);
  }

  /// FmhaWork::cost() of one that neither splits keys nor combines.
  std::uint64_t cost(const FmhaNote& of) const noexcept {
    const std::uint64_t columns = (asked_.seen + of.n0_bits) & ~std::uint64_t{of.n0_bits};
    return asked_.cus.rounds(workgroups(of)) * (columns * of.column_cost) + of.pads;
  }

 private:
  /// Rows of Q, and how often there are so many.
  struct Rows {
    std::uint64_t rows, lines;
  };
  /// For each head, whether one takes all or not.
  std::uint64_t workgroups(const FmhaNote& of) const noexcept {
    const Rows& x = of_[of.merges_heads ? 1 : 0];
    return ((x.rows + of.m0 - 1) >> of.m0_shift) * (x.lines * of.parts_of_v);
  }

  const FmhaAsked& asked_;
  std::uint32_t archs_;
  std::uint64_t heads_, bits_;
  Rows of_[2];  // of heads one by one, and merged
  bool fits_words_;
};

/// The least cost so far.
class Cheapest {
 public:
  Cheapest(const Request& q, const FmhaAsked& asked, const Entry& entry) noexcept
      : q_(q), asked_(asked), none_(entry.default_end), at_(none_) {}

  bool may_be(std::uint64_t bound) const noexcept { return at_ == none_ || bound <= asked_.cus.in_all(least_); }

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

/// What is known of so many defaults is compared before costs are counted.
constexpr std::uint32_t kAtOnce = 64;

/// Of defaults from `begin` on, at most kAtOnce.
template <class Config>
void take_cheapest(const Request& q, const FmhaScreen& screen, const DefaultNote* notes, std::uint32_t begin,
                   std::uint32_t count, Config config, Cheapest& cheapest) noexcept {
  std::uint64_t bounds[kAtOnce], least_bound = ~std::uint64_t{0}, least_cost = ~std::uint64_t{0};
  std::uint32_t open[kAtOnce], opened = 0, first = 0, at = count;
  for (std::uint64_t left = screen.passing(notes, count); left != 0; left &= left - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(left));
    const FmhaNote& note = read(notes[i]);
    if (note.asks_more && !fmha_verdict<Fits>(q, config(begin + i), 1).ok()) continue;
    if (note.known == Known::cost) {
      const std::uint64_t cost = screen.cost(note);
      if (cost < least_cost) least_cost = cost, at = i;
      continue;
    }
    open[opened] = begin + i;
    bounds[opened] = screen.bound(note);
    if (bounds[opened] < least_bound) least_bound = bounds[opened], first = opened;
    ++opened;
  }
  if (at != count) cheapest.take(begin + at, least_cost, 1);
  if (opened == 0 || !cheapest.may_be(least_bound)) return;
  cheapest.count(open[first], config(open[first]));
  for (std::uint32_t i = 0; i < opened; ++i) {
    if (i != first && cheapest.may_be(bounds[i])) cheapest.count(open[i], config(open[i]));
  }
}

}  // namespace

DefaultNote fmha_note(const InstanceDesc& instance) noexcept {
  const FmhaConfig& c = instance.fmha;
  const Heads q = heads_of(c.d_multiple, c.hdim_q), v = heads_of(c.dv_multiple, c.hdim_v);
  DefaultNote kept{};
  FmhaNote& note = *new (kept.bytes) FmhaNote{};
  note.heads = kOrdered + four(-q.least, c.hdim_q, -v.least, c.hdim_v);
  note.never = bits_of(refused_facts(c), q.bits, v.bits, c.pad_q || !is_power(c.m0) ? 0 : c.m0 - 1,
                       c.pad_k || !is_power(c.n0) ? 0 : c.n0 - 1, is_power(c.page_multiple) ? c.page_multiple - 1 : 0);
  note.archs = instance.constraints.measured_only ? 0 : instance.archs;
  note.column_cost = static_cast<std::uint32_t>(column_cost(c));
  note.m0 = static_cast<std::uint32_t>(c.m0), note.n0_bits = static_cast<std::uint32_t>(c.n0) - 1;
  note.m0_shift = static_cast<std::uint8_t>(std::countr_zero(note.m0));
  note.parts_of_v = static_cast<std::uint8_t>(parts_of_v(c));
  note.pads = static_cast<std::uint8_t>(pads_of(c));
  note.known = known_of(c);
  note.merges_heads = c.merge_heads;
  note.asks_more = has_more(c);
  return kept;
}

DefaultFound cheapest_fmha(const Request& q, const Entry& entry, const Sizes& of) noexcept {
  const FmhaTraits& traits = q.signature.fmha;
  const FmhaShape& x = q.problem.fmha();
  const FmhaAsked asked(traits, x, q.cu_num, static_cast<std::uint64_t>(of.n));
  const FmhaScreen screen(q, asked);
  const DefaultNote* const notes = q.index.notes(entry);
  const auto config = [&](std::uint32_t at) -> const FmhaConfig& {
    return q.state.instances[q.index.default_instance(at)]->fmha;
  };
  Cheapest cheapest(q, asked, entry);
  const bool counts_all = appends(traits) || x.split_items != 0 || !screen.fits_words();
  for (std::uint32_t begin = entry.default_begin; begin < entry.default_end; begin += kAtOnce) {
    const DefaultNote* const here = notes + (begin - entry.default_begin);
    const std::uint32_t count = std::min(kAtOnce, entry.default_end - begin);
    if (!counts_all) [[likely]] {
      take_cheapest(q, screen, here, begin, count, config, cheapest);
      continue;
    }
    for (std::uint64_t left = screen.passing(here, count); left != 0; left &= left - 1) {
      const std::uint32_t at = begin + static_cast<std::uint32_t>(std::countr_zero(left));
      if (fmha_verdict<Fits>(q, config(at), 1).ok()) cheapest.count(at, config(at));
    }
  }
  return cheapest.found();
}

}  // namespace ckgen::inline v1::detail
