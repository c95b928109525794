// Of many attention instances the one that is selected is the one that each would name by itself: of those that take
// the problem the first of least cost.
#include "fmha/fmha_fixture.hpp"
#include "src/fmha/cost.hpp"

#include <random>
#include <vector>

namespace test_fmha_cheapest {

using namespace ckgen;
using tiny::attention;
using tiny::numbered;

/// Draws what rules and costs look at: mostly what many instances and problems have, at times any of it.
class Draw {
 public:
  template <class Value>
  Value of(std::initializer_list<Value> values) {
    return values.begin()[random_() % values.size()];
  }
  bool rarely() { return random_() % 8 == 0; }
  bool often() { return random_() % 4 != 0; }

  FmhaConfig config() {
    FmhaConfig c;
    c.m0 = of({16, 64, 64, 128, 48});
    c.n0 = of({32, 64, 128, 128, 96});
    c.k0 = c.k1 = 32;
    c.hdim_q = of({64, 96, 128, 128, 256});
    c.hdim_v = rarely() ? 64 : c.hdim_q;
    c.n1 = rarely() ? 32 : c.hdim_v;
    c.pad_q = often(), c.pad_k = often();
    c.d_multiple = of({0, 1, 8, 8, 12}), c.dv_multiple = of({0, 1, 8, 8});
    c.max_splits = of({1, 1, 1, 8, 128});
    c.page_multiple = of({1, 1, 16, 48});
    c.takes_items = rarely(), c.merge_heads = rarely(), c.always_combines = c.max_splits > 1 && often();
    c.rows_together = rarely() ? 32 : 0;
    c.max_page = rarely() ? 64 : 0, c.max_rows = rarely() ? 100 : 0, c.max_group = rarely() ? 4 : 0;
    c.causal_only = rarely(), c.topleft_only = rarely(), c.needs_keys = rarely(), c.needs_finite = rarely();
    c.cache_limit = rarely() ? 1 << 24 : 0;
    c.max_keys = rarely() ? 4096 : 0;
    c.sink_tokens = often(), c.takes_gaps_q = often(), c.topleft_slopes = often(), c.unordered_dq = rarely();
    c.last_resort = rarely();
    return c;
  }

  FmhaShape shape() {
    const std::int64_t most = 2147483647;
    FmhaShape x = tiny::sizes(of<std::int64_t>({1, 2, 16, 300}), 32, of({1, 4, 32}),
                              of<std::int64_t>({1, 4, 80, 100, 1024, 5000}),
                              of<std::int64_t>({0, 1, 77, 160, 1024, 8256, 131072}), of({64, 72, 80, 128, 256}), 64);
    x.hdim_v = rarely() ? 40 : x.hdim_q;
    if (rarely()) x.batch = x.seqlen_q = x.seqlen_k = of<std::int64_t>({1 << 14, 1 << 20, most});
    x.corner = of({FmhaCorner::top_left, FmhaCorner::bottom_right});
    x.window_left = of({-1, -1, 0, 127, 4095}), x.window_right = of({0, 0, -1, 64});
    x.sink_tokens = rarely() ? 4 : 0;
    x.page_size = of({1, 16, 48, 128}), x.pages = of({0, 512, 8192});
    x.total_q = 0, x.min_seqlen_k = rarely() ? 0 : static_cast<std::int32_t>(x.seqlen_k), x.gaps_q = rarely(),
    x.finite_kv = often();
    if (rarely()) x.split_items = 9, x.split_m0 = 64, x.split_n0 = of({64, 128, 256}), x.split_merged = rarely();
    x.seqlen_new = rarely() ? x.seqlen_k : 0, x.rotary_dim = 16;
    return x;
  }

 private:
  std::mt19937 random_{22};
};

struct Told {
  const Registry& registry;
  const Problem& problem;
  std::uint32_t cu_num;
  Selection best = {};
  detail::Wide cost = 0;
};

/// What takes the problem, one after the other.
bool weigh(void* context, const Selection& one) {
  Told& told = *static_cast<Told*>(context);
  const InstanceDesc& instance = told.registry.instance(one.instance);
  if (instance.constraints.measured_only) return true;
  const detail::SplitCost own =
      detail::best_splits(instance.fmha, told.problem.signature().fmha, told.problem.fmha(), told.cu_num);
  if (told.best && own.cost >= told.cost) return true;
  told.best = one;
  told.best.k_batch = own.splits;
  told.cost = own.cost;
  return true;
}

class FmhaCheapest : public tiny::FmhaTest {
 protected:
  /// 150 instances are more than are asked at once.
  void add_many(const FmhaTraits& traits) {
    for (std::uint64_t i = 0; i < 150; ++i) {
      InstanceDesc desc = described(numbered("drawn", i), draw.config(), attention(traits));
      desc.constraints.measured_only = draw.rarely();
      if (draw.rarely()) desc.archs = tiny::bit(Arch::gfx950);
      add(desc);
    }
  }

  /// How many of so many problems were answered.
  int answered(const FmhaTraits& traits, int problems) {
    const Dispatcher own = dispatcher();
    int found = 0;
    for (int i = 0; i < problems; ++i) {
      const Device on = Device::simulated(draw.of({"gfx942", "gfx942:80", "gfx950", "x86_64_v3:1", "x86_64_v3:2"}));
      const Problem problem = Problem(attention(traits)).fmha(draw.shape()).deterministic(draw.rarely());
      Told told{own.registry(), problem, on.cu_num()};
      own.enumerate(problem, on, weigh, &told);
      const Selection selection = own.select(problem, on);
      EXPECT_EQ(selection ? own.registry().instance(selection.instance).name : "none",
                std::string(told.best ? own.registry().instance(told.best.instance).name : "none"))
          << i;
      EXPECT_EQ(selection ? selection.k_batch : 0U, told.best ? told.best.k_batch : 0U) << i;
      found += selection ? 1 : 0;
    }
    return found;
  }

  Draw draw;
};

TEST_F(FmhaCheapest, OfPlainAttention) {
  add_many({});
  EXPECT_GT(answered({}, 1500), 700);
}

TEST_F(FmhaCheapest, UnderAMaskWithSlopes) {
  FmhaTraits traits;
  traits.masked = true;
  traits.bias = FmhaBias::alibi;
  add_many(traits);
  EXPECT_GT(answered(traits, 1500), 700);
}

TEST_F(FmhaCheapest, OfPagesAndLengths) {
  FmhaTraits traits;
  traits.masked = traits.varlen = true;
  traits.kv = FmhaKv::block_table;
  add_many(traits);
  EXPECT_GT(answered(traits, 1500), 700);
}

TEST_F(FmhaCheapest, OfAppend) {
  FmhaTraits traits;
  traits.entry = FmhaEntry::append;
  traits.rope = FmhaRope::half;
  add_many(traits);
  EXPECT_GT(answered(traits, 500), 100);
}

}  // namespace test_fmha_cheapest
