// Scales of mx that tiles take with the values give what scales of sums give, and are left where they would not.
#include "backends/host/host_fixture.hpp"

#include "backends/host/gemm/gemm.hpp"

#include <cmath>
#include <limits>
#include <random>

namespace host_test {
namespace test_host_folded {

constexpr HostConfig kConfigs[] = {{Isa::x86_64_amx, 32, 32, 64, 512, 1024, 2},
                                   {Isa::x86_64_amx, 16, 32, 64, 64, 64, 1}};

struct Random {
  unsigned operator()() { return static_cast<unsigned>(next()); }
  std::mt19937 next{7};
};

struct Types {
  DType a, b;
};

// Operands whose sums no addition rounds, where the scales of A and B are at most a few powers of two from theirs.
class Product {
 public:
  Product(Types types, Shape s, std::int64_t batch, int a_scale, int b_scale)
      : traits_{types.a, types.b, DType::fp32, DType::fp32, Layout::rcr, Quant::mx, false, false} {
    Random random;
    const std::int64_t groups = (s.k + 31) / 32;
    a_ = operand(types.a, batch * s.m * s.k, random);
    b_ = operand(types.b, batch * s.n * s.k, random);
    a_scales_ = scales(batch * s.m * groups, a_scale, random);
    b_scales_ = scales(batch * s.n * groups, b_scale, random);
    args_.m = s.m, args_.n = s.n, args_.k = s.k, args_.batch = batch;
    args_.lda = args_.ldb = s.k, args_.ldc = s.n;
    args_.batch_stride_a = s.m * s.k, args_.batch_stride_b = s.n * s.k, args_.batch_stride_c = s.m * s.n;
    args_.a = a_.data(), args_.b = b_.data(), args_.a_scale = a_scales_.data(), args_.b_scale = b_scales_.data();
  }

  void set_a_scale(std::size_t i, unsigned char code) { a_scales_[i] = code; }
  void set_a(DType type, std::int64_t i, float value) { write(type, a_.data(), i, value); }

  Bytes run(const HostConfig& config, host::RowOrder order) {
    Bytes out(static_cast<std::size_t>(args_.batch * args_.m * args_.n * 4));
    args_.c = out.data();
    const Workspace memory(host::gemm_host_workspace(traits_, config, args_.m, args_.n, args_.k, args_.batch));
    EXPECT_TRUE(host::run_gemm_host(traits_, config, args_, memory.data, order).ok());
    return out;
  }

 private:
  static Bytes operand(DType type, std::int64_t count, Random& random) {
    Bytes all(static_cast<std::size_t>((count * bits(type) + 7) / 8));
    SmallIntegers(type).draw(all.data(), count, random);
    return all;
  }
  static Bytes scales(std::int64_t count, int middle, Random& random) {
    Bytes all(static_cast<std::size_t>(count));
    for (unsigned char& code : all)
      code = static_cast<unsigned char>(127 + middle + static_cast<int>(random() % 3) - 1);
    return all;
  }

  GemmTraits traits_;
  GemmArgs args_{};
  Bytes a_, b_, a_scales_, b_scales_;
};

class HostFolded : public testing::Test {
 protected:
  void SetUp() override {
    if (!host::isa_available(Isa::x86_64_amx)) GTEST_SKIP() << "this CPU has no tiles";
  }
};

TEST_F(HostFolded, ScalesOfValuesAndOfSumsGiveTheSame) {
  for (const HostConfig& config : kConfigs)
    for (const Types types : {Types{DType::fp8_ocp, DType::fp8_ocp}, Types{DType::bf8_ocp, DType::bf8_ocp},
                              Types{DType::fp4, DType::fp4}, Types{DType::fp8_ocp, DType::fp4}})
      for (const Shape s : {Shape{70, 50, 64}, Shape{17, 40, 46}, Shape{33, 97, 1120}, Shape{100, 33, 31}}) {
        SCOPED_TRACE(testing::Message() << name(types.a) << " " << name(types.b) << ", " << config.mr
                                        << " rows: " << s.m << " x " << s.n << " x " << s.k);
        if (s.k % 2 != 0 && (types.a == DType::fp4 || types.b == DType::fp4)) continue;
        Product product(types, s, 2, -3, 5);
        EXPECT_EQ(product.run(config, host::RowOrder::any), product.run(config, host::RowOrder::alike));
      }
}

// bf16 has no number for the least value times 2^-120.
TEST_F(HostFolded, ScalesFarFromOneAreThoseOfSums) {
  for (const HostConfig& config : kConfigs) {
    Product product({DType::fp8_ocp, DType::fp8_ocp}, {40, 40, 96}, 1, -120, 120);
    for (std::int64_t i = 0; i < 40 * 96; i += 5) product.set_a(DType::fp8_ocp, i, 0x1p-9F);
    EXPECT_EQ(product.run(config, host::RowOrder::any), product.run(config, host::RowOrder::alike));
    for (const std::size_t nan : {5, 119}) {
      product = Product({DType::fp8_ocp, DType::fp8_ocp}, {40, 40, 96}, 1, 0, 0);
      product.set_a_scale(nan, 255);
      EXPECT_EQ(product.run(config, host::RowOrder::any), product.run(config, host::RowOrder::alike)) << nan;
    }
  }
}

TEST_F(HostFolded, WhatIsNoNumberStaysSo) {
  for (const HostConfig& config : kConfigs) {
    Product product({DType::bf8_ocp, DType::bf8_ocp}, {40, 40, 96}, 1, 9, -9);
    product.set_a(DType::bf8_ocp, 3, std::numeric_limits<float>::infinity());
    product.set_a(DType::bf8_ocp, 96 * 7 + 40, std::numeric_limits<float>::quiet_NaN());
    const Bytes folded = product.run(config, host::RowOrder::any), scaled = product.run(config, host::RowOrder::alike);
    for (std::int64_t i = 0; i < 40 * 40; ++i) {
      const float found = read(DType::fp32, folded.data(), i), wanted = read(DType::fp32, scaled.data(), i);
      ASSERT_TRUE(std::isnan(wanted) ? std::isnan(found) : found == wanted) << i << ": " << found << ", " << wanted;
    }
  }
}

}  // namespace test_host_folded
}  // namespace host_test
