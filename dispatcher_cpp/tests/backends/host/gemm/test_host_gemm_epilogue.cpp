// Epilogues of GEMMs on the CPU, on every way that a product takes: what the ops make of the sums that the same product
// gives without them.
#include "backends/host/gemm/host_gemm_ways.hpp"

namespace host_test {
namespace test_host_gemm_epilogue {

/// relu(sum * D0 + D1), of two products; D0 is one row for all rows.
void expect_fused(const Way& way, DType c, std::int64_t m) {
  SCOPED_TRACE(testing::Message() << way.what << " " << name(c) << " m " << m);
  const std::int64_t n = 75, k = 200, batch = 2;
  const GemmTraits plain{DType::bf16, DType::bf16, DType::fp32, DType::fp32, Layout::rcr, Quant::none, false, true};
  Fixture sums(plain, {m, n, k}, batch);
  ASSERT_TRUE(way.run(plain, sums.args).ok());
  GemmTraits fused = plain;
  fused.c = c;
  fused.epilogue.ops[0] = EpilogueOp::mul, fused.epilogue.ops[1] = EpilogueOp::add,
  fused.epilogue.ops[2] = EpilogueOp::relu;
  Fixture f(fused, {m, n, k}, batch);
  const std::int64_t ldd[] = {0, n + 1}, stride[] = {n + 5, m * (n + 1) + 3};
  Bytes d[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t count = stride[i] * batch;
    d[i].resize(static_cast<std::size_t>(bytes_of(c, count)));
    for (std::int64_t j = 0; j < count; ++j) write(c, d[i].data(), j, static_cast<float>((j * 7 + 3) % 11 - 5) / 4.0F);
    f.args.d[i] = d[i].data(), f.args.ldd[i] = ldd[i], f.args.batch_stride_d[i] = stride[i];
  }
  ASSERT_TRUE(way.run(fused, f.args).ok());
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t row = 0; row < m; ++row)
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t at = b * f.args.batch_stride_c + row * f.args.ldc + j;
        const auto of_d = [&](std::size_t i) { return read(c, d[i].data(), b * stride[i] + row * ldd[i] + j); };
        const float v = read(DType::fp32, sums.c.data(), at) * of_d(0) + of_d(1), wanted = v < 0 ? 0.0F : v;
        ASSERT_EQ(read(c, f.c.data(), at), c == DType::fp32 ? wanted : decode(c, encode(c, wanted)))
            << b << " " << row << " " << j;
      }
}

TEST(HostGemmEpilogue, IsAppliedToWholeSumsOnEveryWay) {
  for (const Way& way : gemm_ways())
    for (const DType c : {DType::fp32, DType::bf16})
      for (const std::int64_t m : {1, 3, 40}) expect_fused(way, c, m);
}

}  // namespace test_host_gemm_epilogue
}  // namespace host_test
