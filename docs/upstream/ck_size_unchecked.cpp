// a8w8_bpreshuffle accepts A of 6 GiB: the op has no size check, and a buffer resource counts 32 bits of bytes.
#include <cstdint>
#include <cstdio>

#include "ck/host/prelude.hpp"

#include "ck/ops/bpreshuffle.hpp"

using namespace ckgen::ck_ops;

struct Config {
  using Operand = ck::f8_t;
  using Out = ck::bhalf_t;
  using ACluster = S<8, 32, 1>;
  using BCluster = S<8, 32, 1>;
  using CCluster = S<1, 32, 1, 8>;
  using CVector = S<8, 8, 1>;
  static constexpr Index block = 256, m = 64, n = 128, k = 128, ak1 = 16, bk1 = 16, xdl_m = 16, xdl_n = 16;
  static constexpr Index per_wave_m = 4, per_wave_n = 2, shuffle_m = 2, shuffle_n = 1;
  static constexpr Scheduler scheduler = Scheduler::Intrawave;
  static constexpr Version version = Version::v3;
};
using Op = A8w8BPreshuffle<Config>::Op<Spec::Default>;

int main() {
  const ckgen::ck_host::DeviceScope device(ckgen::Arch::gfx942, 304);
  for (const auto [m, n, k] : {std::array{131072, 128, 16384}, {393216, 128, 16384}}) {
    const auto argument = Op::MakeArgument(nullptr, nullptr, {}, nullptr, m, n, k, k, k, {}, n, 1, {}, {}, {});
    const long long bytes = static_cast<long long>(m) * k;
    std::printf("A %d x %d: %lld bytes, in 32 bits %u: %s\n", m, k, bytes, static_cast<std::uint32_t>(bytes),
                Op::IsSupportedArgument(argument) ? "accepted" : "refused");
  }
}
