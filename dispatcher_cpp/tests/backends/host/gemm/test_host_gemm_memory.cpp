// What GEMMs on the CPU read: nothing behind the last element of an operand, whose next byte is no memory.
#include "backends/host/gemm/host_gemm_ways.hpp"
#include "guarded_memory.hpp"

#include <memory>

namespace host_test {
namespace test_host_gemm_memory {

void expect_inside(const Way& way, DType type, Layout layout, Shape shape) {
  SCOPED_TRACE(testing::Message() << way.what << " " << name(type) << " " << name(layout) << " m " << shape.m);
  const bool whole = type == DType::int8;
  const GemmTraits t{
      type,  type, whole ? DType::int32 : DType::fp32, whole ? DType::int32 : DType::fp32, layout, Quant::none,
      false, false};
  Fixture f(t, shape);
  const auto guarded = [&](const Bytes& all, bool k_contiguous, std::int64_t lines, std::int64_t ld) {
    const std::int64_t last = k_contiguous ? shape.k : lines;
    const auto bytes = static_cast<std::size_t>(bytes_of(type, ((k_contiguous ? lines : shape.k) - 1) * ld + last));
    auto memory = std::make_unique<GuardedMemory>(bytes);
    std::memcpy(memory->get(), all.data(), bytes);
    return memory;
  };
  const auto a = guarded(f.a, a_is_row_major(layout), shape.m, f.args.lda);
  const auto b = guarded(f.b, !b_is_row_major(layout), shape.n, f.args.ldb);
  f.args.a = a->get(), f.args.b = b->get();
  ASSERT_TRUE(way.run(t, f.args).ok());
  f.expect_equal();
}

TEST(HostGemmMemory, NothingBehindAnOperandIsRead) {
  for (const Way& way : gemm_ways())
    for (const DType type : {DType::fp32, DType::bf16, DType::fp8_ocp, DType::int8})
      for (const Layout layout : {Layout::rcr, Layout::rrr, Layout::ccr})
        for (const std::int64_t m : {1, 6, 40}) expect_inside(way, type, layout, {m, m == 40 ? 64 : 33, 257});
}

}  // namespace test_host_gemm_memory
}  // namespace host_test
