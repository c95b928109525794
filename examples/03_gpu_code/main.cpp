// A batched GEMM whose GPU code is linked in: which archs it was built for, and what a launch would need on each.
#include <cstdint>
#include <cstdio>

#include <ckgen/ckgen.hpp>
#include <my_kernels/register.hpp>

namespace {

int fail(const ckgen::Status& status) {
  std::printf("failed: %s\n", status.message);
  return 1;
}

}  // namespace

int main() {
  ckgen::Registry registry;
  if (const ckgen::Status status = my_kernels::register_all(registry); !status.ok()) return fail(status);
  for (std::uint32_t i = 0; i < registry.size(); ++i) {
    std::printf("%s\n  GPU code for", registry.instance(i).name);
    for (const ckgen::Arch arch : {ckgen::Arch::gfx90a, ckgen::Arch::gfx942, ckgen::Arch::gfx950})
      if ((registry.device_archs(i) >> static_cast<unsigned>(arch) & 1U) != 0)
        std::printf(" %s", ckgen::arch_name(arch).data());
    std::printf("\n");
  }

  const ckgen::Dispatcher dispatcher(registry);
  const auto problem = ckgen::gemm("batched_bf16").shape(1, 1280, 8192).batch(16);
  const ckgen::Device here = ckgen::Device::current();
  const bool on_gpu = here.kind() == ckgen::DeviceKind::gpu;
  const auto plan = dispatcher.plan(problem, on_gpu ? here : ckgen::Device::simulated("gfx942"));
  if (!plan) return fail(plan.status());
  std::printf("on %s: %s\n", plan->device.gfx(), plan->launchable.ok() ? "can be launched" : plan->launchable.message);
  std::printf("%s\n", on_gpu ? "with its GPU code" : "with its host twin, as this machine has no GPU");
  return plan->launchable.ok() ? 0 : 1;
}
