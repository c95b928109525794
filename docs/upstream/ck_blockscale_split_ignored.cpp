// a8w8_blockscale (DeviceGemmMultiD_ABScale_Xdl_CShuffle_V3) accepts KBatch = 4 and launches four times the whole sum,
// or nothing.
#include <cstdio>

#include "ck/host/prelude.hpp"

#include "ck/host/ask.hpp"
#include "ck/ops/blockscale.hpp"

using namespace ckgen::ck_ops;

struct Config {
  using Operand = ck::f8_t;
  using Out = ck::bhalf_t;
  using ACluster = S<8, 32, 1>;
  using BCluster = S<8, 32, 1>;
  using CCluster = S<1, 32, 1, 8>;
  using CVector = S<8>;
  static constexpr Index block = 256, scale_m = 1, scale_n = 128, scale_k = 128, m = 128, n = 128, k = 128;
  static constexpr Index ak1 = 16, bk1 = 16, xdl_m = 32, xdl_n = 32, per_wave_m = 2, per_wave_n = 2;
  static constexpr Index shuffle_m = 1, shuffle_n = 1;
  static constexpr Scheduler scheduler = Scheduler::Intrawave;
  static constexpr Version version = Version::v3;
};
using Op = A8w8BlockScale<Config>::Op<Spec::MNKPadding>;

int main() {
  const ckgen::ck_host::DeviceScope device(ckgen::Arch::gfx942, 304);
  constexpr Variant set{Spec::MNKPadding, true, Tail::Full, Write::Set};
  const auto set_kernel = reinterpret_cast<void (*)()>(A8w8BlockScale<Config>::kernel<set>());
  for (const int k : {4096, 512}) {
    auto argument =
        Op::MakeArgument(nullptr, nullptr, {}, nullptr, 128, 128, k, k, k, {}, 128, nullptr, nullptr, {}, {}, {});
    argument.KBatch = 4;  // as DeviceGemmMultiD_ABScale_Xdl_CShuffle_V3::SetKBatch does
    alignas(16) unsigned char bytes[1024];
    ckgen::ck_host::Recorded launch{bytes, sizeof bytes};
    ckgen::ck_host::ask<Op>(argument, launch);
    std::printf("K=%d KBatch=4: %s, %u launched, z = %u, the kernel %s\n", k,
                Op::IsSupportedArgument(argument) ? "accepted" : "refused", launch.launches,
                launch.launches ? launch.grid.z : 0,
                !launch.launches              ? "none"
                : launch.kernel == set_kernel ? "sets C"
                                              : "adds to C");
  }
}
