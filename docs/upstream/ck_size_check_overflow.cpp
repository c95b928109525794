// a8w8 (DeviceGemmMultiD_Xdl_CShuffle_V3) accepts matrices of 4 GiB: its 2 GiB check multiplies extents as int.
#include <cstdint>
#include <cstdio>

#include "ck/host/prelude.hpp"

#include "ck/ops/a8w8.hpp"

using namespace ckgen::ck_ops;

struct Config {
  using Operand = int8_t;
  using Out = ck::bhalf_t;
  using ACluster = S<32, 8, 1>;
  using BCluster = S<32, 8, 1>;
  using CCluster = S<1, 16, 1, 16>;
  using CVector = S<4, 4, 1>;
  static constexpr Index block = 256, m = 16, n = 64, k = 512, ak1 = 16, bk1 = 16, xdl_m = 16, xdl_n = 16;
  static constexpr Index per_wave_m = 1, per_wave_n = 1, shuffle_m = 1, shuffle_n = 1;
  static constexpr Scheduler scheduler = Scheduler::Intrawave;
  static constexpr Version version = Version::v3;
};
using Op = A8w8<Config>::Op<Spec::Default>;

int main() {
  const ckgen::ck_host::DeviceScope device(ckgen::Arch::gfx942, 304);
  for (const auto [m, n, k] : {std::array{32768, 64, 65024}, {65536, 64, 65536}, {131072, 64, 32768}}) {
    const auto argument = Op::MakeArgument(nullptr, nullptr, {}, nullptr, m, n, k, k, k, {}, n, 1, {}, {}, {});
    const auto wrapped = static_cast<std::int32_t>(static_cast<std::uint32_t>(m) * static_cast<std::uint32_t>(k));
    std::printf("A %d x %d: %lld bytes, as int %d: %s\n", m, k, static_cast<long long>(m) * k, wrapped,
                Op::IsSupportedArgument(argument) ? "accepted" : "refused");
  }
}
