// Selection where a batch-invariant result is asked for.
#include <gtest/gtest.h>

#include <ckgen/dispatcher.hpp>

#include "tiny_library.hpp"

namespace test_batch_invariance {

using namespace ckgen;

/// Two tables' rungs, and one default: orders of additions 5 (small, medium) and 6 (atomic).
TEST(BatchInvariance, OneOrderOfAdditionsAnswersEveryM) {
  static InstanceDesc own[] = {tiny::instances[0], tiny::instances[1], tiny::instances[2]};
  own[0].order = own[1].order = {5, 7};
  own[2].order = {6, 6};
  static SignatureUnit unit = tiny::unit;
  unit.instances = own;
  static const SignatureUnit* units[] = {&unit};
  Registry filled;
  ASSERT_TRUE(filled.add(Library{"ordered", CKGEN_RUNTIME_ABI, 0x99, units, 1}).ok());
  const Dispatcher ordered(filled, DispatcherOptions{});
  const Device on = Device::simulated("gfx942:304");
  const auto asked = [&](std::int64_t m) { return ordered.select(tiny::problem(m, 1024, 2048).batch_invariant(), on); };
  for (const std::int64_t m : {1, 2, 17, 33, 128, 257, 1024, 4096}) {
    const Selection s = asked(m);
    ASSERT_TRUE(s) << m << ": " << reason(s);
    EXPECT_EQ(own[s.instance].order.whole, 5U) << m;
    EXPECT_EQ(s.k_batch, 1U) << m;
  }
  EXPECT_EQ(asked(16).tier, Tier::exact);
  EXPECT_EQ(asked(128).tier, Tier::far_);  // its own rung is split in two
  EXPECT_EQ(ordered.select(tiny::problem(128, 1024, 2048), on).k_batch, 2U);
  const std::string trail = ordered.explain(tiny::problem(128, 1024, 2048).batch_invariant(), on);
  EXPECT_NE(trail.find("K=2048 batch_invariant  on"), std::string::npos) << trail;
  EXPECT_NE(trail.find("rule gemm.instance.order-splits"), std::string::npos) << trail;

  own[0].order = own[1].order = {};  // then it is a default's
  EXPECT_EQ(own[asked(16).instance].order.whole, 6U);
  EXPECT_EQ(asked(16).tier, Tier::default_);
  own[2].order = {};
  EXPECT_FALSE(asked(16));
  EXPECT_NE(reason(asked(16)).find("rule gemm.instance.no-order"), std::string::npos) << reason(asked(16));
  EXPECT_TRUE(ordered.select(tiny::problem(16, 1024, 2048), on));
}

}  // namespace test_batch_invariance
