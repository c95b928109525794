// a4w4 (DeviceGemmMX_Xdl_CShuffleV3 on a preshuffled B) accepts N = 520, whose last 8 columns have no scales.
#include <cstdio>

#include "ck/host/prelude.hpp"

#include "ck/ops/a4w4.hpp"

using namespace ckgen::ck_ops;

struct Config {
  using Operand = ck::f4x2_pk_t;
  using Out = ck::bhalf_t;
  using ACluster = S<8, 32, 1>;
  using BCluster = S<8, 32, 1>;
  using CCluster = S<1, 32, 1, 8>;
  using CVector = S<8>;
  static constexpr Index block = 256, m = 64, n = 128, k = 128, ak1 = 16, bk1 = 16, xdl_m = 16, xdl_n = 16;
  static constexpr Index per_wave_m = 4, per_wave_n = 2, shuffle_m = 2, shuffle_n = 2;
  static constexpr Scheduler scheduler = Scheduler::Intrawave;
  static constexpr Version version = Version::v3;
};
using Op = A4w4<Config>::Op<Spec::Default>;

int main() {
  const ckgen::ck_host::DeviceScope device(ckgen::Arch::gfx950, 256);
  constexpr int m = 64, k = 4096;
  for (const int n : {512, 520, 528}) {
    const auto argument =
        Op::MakeArgument(nullptr, nullptr, nullptr, nullptr, nullptr, m, n, k, k, k / 32, k, k / 32, n, 1, {}, {}, {});
    std::printf("N=%d: %s, scales for %d columns\n", n, Op::IsSupportedArgument(argument) ? "accepted" : "refused",
                n / 32 * 32);
  }
}
