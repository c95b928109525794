// The workspace of attention on the CPU: what is said to be needed is, to the last byte, and no byte behind it.
#include "backends/host/fmha/host_fmha_reference.hpp"
#include "backends/host/fmha/host_fmha_scheduled.hpp"
#include "guarded_memory.hpp"

namespace host_test {
namespace test_host_fmha_workspace {

/// On one thread, whose memory is the last.
FmhaCase one_thread(DType type, int rows, std::uint32_t splits) {
  FmhaTraits traits;
  traits.masked = traits.lse = true;
  FmhaCase c = fmha_case(type, type, type, traits, fmha_shape(2, 4, 2, rows, 300, 64, 64));
  c.threads = 1, c.splits = splits, c.merge_heads = true, c.m0 = 16;
  c.isa = host::detect_isa();
  return c;
}

void expect_exact(FmhaFixture& f) {
  const std::size_t bytes = f.workspace_bytes();
  ASSERT_EQ(bytes % 64, 0U);
  const GuardedMemory room(bytes);
  ASSERT_NE(room.get(), nullptr);
  const Status status = f.run(room.get());
  ASSERT_TRUE(status.ok()) << status.message;
  expect_right(f);
  EXPECT_DEATH(fault([&] { f.run(room.get() + 16); }), "") << "less than " << bytes << " bytes suffice";
  EXPECT_EQ(f.run(room.get() - 1).code, StatusCode::invalid_argument) << "no address of 16 bytes";
}

class HostFmhaWorkspace : public testing::Test {
 protected:
  // The pool of threads may be there: what dies is a process of its own, not a fork.
  HostFmhaWorkspace() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(HostFmhaWorkspace, IsExact) {
  for (const DType type : {DType::fp32, DType::bf16})
    for (const auto& [rows, splits] : {std::pair{1, 1U}, std::pair{1, 3U}, std::pair{40, 1U}, std::pair{40, 2U}}) {
      SCOPED_TRACE(testing::Message() << name(type) << " rows " << rows << " splits " << splits);
      FmhaFixture f(one_thread(type, rows, splits));
      expect_exact(f);
    }
}

TEST_F(HostFmhaWorkspace, OfAScheduleIsExact) {
  for (const int rows : {2, 40})
    for (const bool merge_heads : {true, false}) {
      FmhaCase c = one_thread(DType::bf16, rows, 1);
      c.merge_heads = merge_heads;
      Scheduled s(c);
      expect_exact(s.f);
    }
}

}  // namespace test_host_fmha_workspace
}  // namespace host_test
