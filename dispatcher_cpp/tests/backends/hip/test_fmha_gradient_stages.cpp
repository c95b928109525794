// The first kernel of a plan of gradients checks the arguments for all that follow it.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include <backends/hip/fmha_gradients_host.hpp>

namespace ckgen::hip {
namespace test_fmha_gradient_stages {

alignas(16) unsigned char memory[64];

/// A launch of a batch, dV of which is null.
struct Case {
  Problem problem;
  FmhaArgs args;
  KernelCall call;

  explicit Case(std::int64_t rows) : problem(Signature{Op::fmha, DType::bf16, DType::bf16, DType::bf16}) {
    FmhaShape shape;
    shape.heads_q = shape.heads_k = 2;
    shape.seqlen_q = rows;
    shape.seqlen_k = 70;
    shape.hdim_q = shape.hdim_v = 64;
    problem.fmha(shape);
    args.q = args.k = args.v = args.dout = args.o = args.dq = args.dk = memory;
    args.lse = reinterpret_cast<float*>(memory);
  }
  Launch launch() const {
    Launch one{};
    one.problem = &problem;
    one.fmha = &args;
    return one;
  }
};

constexpr FmhaGradientKernel kKernel{"kernel", {}};

TEST(FmhaGradientStages, DeltaChecksForAllWhereThereAreRows) {
  Case one(5);
  EXPECT_STREQ(prepare_delta(kKernel, one.launch(), one.call).message, "dv is null");
  EXPECT_TRUE(prepare_dk_dv(kKernel, one.launch(), one.call).ok());
  EXPECT_TRUE(prepare_gradients(kKernel, GradientGrid::rows, one.launch(), one.call).ok());
}

TEST(FmhaGradientStages, TheKernelDoesWhereThereAreNone) {
  Case one(0);
  EXPECT_STREQ(prepare_dk_dv(kKernel, one.launch(), one.call).message, "dv is null");
  one.args.dv = memory;
  ASSERT_TRUE(prepare_dk_dv(kKernel, one.launch(), one.call).ok());
  EXPECT_EQ(one.call.grid[0], 2U) << "tiles of 64 keys";
}

}  // namespace test_fmha_gradient_stages
}  // namespace ckgen::hip
