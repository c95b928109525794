// Links both ways of giving TARGETS, asks for one kernel of each, and runs one: a consumer in as few lines as it takes.
#include <cstdint>
#include <cstdio>

#include <ckgen/ckgen.hpp>
#include <quoted/register.hpp>
#include <unquoted/register.hpp>

int main() {
  ckgen::Registry quoted_registry, unquoted_registry;
  if (!quoted::register_all(quoted_registry).ok() || !unquoted::register_all(unquoted_registry).ok()) return 1;
  const ckgen::Dispatcher dispatchers[] = {ckgen::Dispatcher{quoted_registry}, ckgen::Dispatcher{unquoted_registry}};

  const auto problem = ckgen::gemm("a8w8:int8").shape(16, 32, 512);
  for (const ckgen::Dispatcher& dispatcher : dispatchers) {
    for (const char* gfx : {"gfx942", "gfx950"}) {
      const ckgen::Device device = ckgen::Device::simulated(gfx);
      const auto plan = dispatcher.plan(problem, device);
      if (!plan || !plan->launchable.ok()) return 2;

      static std::int8_t a[16 * 512], b[32 * 512];
      static std::uint16_t c[16 * 32];
      float ones[32];
      for (std::int8_t& value : a) value = 1;
      for (std::int8_t& value : b) value = 1;
      for (float& value : ones) value = 1.0f;
      ckgen::GemmArgs args{};
      args.a = a;
      args.b = b;
      args.c = c;
      args.a_scale = args.b_scale = ones;
      args.m = 16;
      args.n = 32;
      args.k = args.lda = args.ldb = 512;
      args.ldc = 32;
      args.batch = 1;
      if (!dispatcher.run(*plan, args, nullptr).ok()) return 3;
      for (const std::uint16_t value : c) {
        if (value != 0x4400) return 4;  // 512 as bf16
      }
      std::printf("%s %s %s\n", gfx, ckgen::tier_name(plan->selection.tier), ckgen::version());
    }
  }
  return 0;
}
