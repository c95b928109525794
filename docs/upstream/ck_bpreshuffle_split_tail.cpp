// a8w8_bpreshuffle accepts M=4 N=128 K=4224 KBatch=4, whose splits do not begin where the kernel looks for them in B.
#include <cstdio>

#include "ck/host/prelude.hpp"

#include "ck/ops/bpreshuffle.hpp"

using namespace ckgen::ck_ops;

struct Config {
  using Operand = ck::f8_t;
  using Out = ck::bhalf_t;
  using ACluster = S<8, 16, 1>;
  using BCluster = S<8, 16, 1>;
  using CCluster = S<1, 16, 1, 8>;
  using CVector = S<4, 4, 1>;
  static constexpr Index block = 128, m = 16, n = 32, k = 128, ak1 = 16, bk1 = 16, xdl_m = 16, xdl_n = 16;
  static constexpr Index per_wave_m = 1, per_wave_n = 1, shuffle_m = 1, shuffle_n = 1;
  static constexpr Scheduler scheduler = Scheduler::Intrawave;
  static constexpr Version version = Version::v1;
};
using Op = A8w8BPreshuffle<Config>::Op<Spec::MNKPadding>;

int main() {
  const ckgen::ck_host::DeviceScope device(ckgen::Arch::gfx942, 304);
  constexpr int m = 4, n = 128, k = 4224, splits = 4;
  const auto argument = Op::MakeArgument(nullptr, nullptr, {}, nullptr, m, n, k, k, k, {}, n, splits, {}, {}, {});
  std::printf("M=%d N=%d K=%d KBatch=%d: %s\n", m, n, k, splits,
              Op::IsSupportedArgument(argument) ? "accepted" : "refused");
  constexpr int block = 64;  // elements of K in one block of B for 16x16 tiles of fp8: 4 lanes of 16
  for (int split = 0; split < splits; ++split) {
    const int begin = split * argument.KRead;
    const int length = split + 1 < splits ? argument.KRead : k - begin;
    const int taken = split * ((length + block - 1) / block) * block;  // blockIdx.z * CalculateBK0Shuffled(karg.K)
    std::printf("split %d: A from k = %d, B from k = %d\n", split, begin, taken);
  }
}
