// GPU code of a generated library for the mock CUDA driver: each kernel runs its instance's host twin, and some
// misbehave. `kIds`, `kActs` and `kObject` stand before this file.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <ckgen/device_code.hpp>
#include <ckgen/library.hpp>

#include "../dispatcher_cpp/tests/mock_cuda/mock_cuda.hpp"

namespace device_kernels {

enum Act : int { right, crashes, loops, writes_beside, writes_a, gives_garbage, does_nothing };

/// Beyond it is what is read to sweep a cache: its result counts for nothing, and it would take seconds.
constexpr std::int64_t kMost = std::int64_t{1} << 26;

struct Argument {
  MockCudaRun run;
  const ckgen::InstanceDesc* instance;
  ckgen::Problem problem;
  ckgen::GemmArgs args;
  std::uint32_t k_batch;
  int act;
  void* workspace;
};
static_assert(std::is_trivially_copyable_v<Argument> && sizeof(Argument) <= ckgen::kMaxKernelArgs);

std::size_t workspace(const ckgen::InstanceDesc& instance, const ckgen::Problem& problem, std::uint32_t k_batch,
                      ckgen::Arch, std::uint32_t) noexcept {
  return instance.workspace(instance, problem, k_batch, 0);
}

void twin(const Argument& of) {
  const ckgen::Launch launch{of.instance, &of.problem, of.k_batch, &of.args, of.workspace, nullptr};
  if (!of.instance->twin(launch).ok()) std::abort();
}

void kernel(const void* argument) {
  Argument of;
  std::memcpy(&of, argument, sizeof of);
  if (of.args.n * of.args.k > kMost) return;
  auto* c = static_cast<unsigned char*>(of.args.c);
  const auto size = static_cast<std::size_t>(of.args.m * of.args.n) * 2;
  switch (of.act) {
    case crashes: std::abort();
    case loops:
      for (volatile bool goes_on = true; goes_on;) {
      }
      return;
    case writes_beside:
      twin(of);
      c[size + 100] = 1;
      return;
    case writes_a:
      twin(of);
      static_cast<unsigned char*>(const_cast<void*>(of.args.a))[0] += 1;
      return;
    case gives_garbage: std::memset(c, 0x3f, size); return;
    case does_nothing: return;
    default: twin(of); return;
  }
}

ckgen::Status prepare(const ckgen::Launch& launch, ckgen::Arch, std::uint32_t, ckgen::KernelCall& out) noexcept {
  Argument of{{kMockCudaRun, kernel}, launch.instance, *launch.problem, *launch.args,
              launch.k_batch,         right,           launch.workspace};
  for (std::size_t i = 0; i < kCount; ++i)
    if (kIds[i] == launch.instance->id) of.act = kActs[i];
  out.symbol = "run";
  out.block[0] = 128;
  out.args_size = sizeof of;
  std::memcpy(out.args, &of, sizeof of);
  return ckgen::Status::success();
}

constexpr ckgen::CodeObject objects[] = {{ckgen::Arch::sm_90a, kObject, sizeof kObject, kUnpacked}};

/// An entry for each instance, filled when it is asked for.
struct Codes {
  ckgen::DeviceCode codes[kCount];
  const ckgen::DeviceCode* pointers[kCount];
  ckgen::DeviceLibrary library;
  Codes() : library{"good_device", CKGEN_RUNTIME_ABI, pointers, static_cast<std::uint32_t>(kCount)} {
    for (std::size_t i = 0; i < kCount; ++i) {
      codes[i] = {kIds[i], prepare, objects, 1, workspace};
      pointers[i] = &codes[i];
    }
  }
};

}  // namespace device_kernels

extern "C" const void* ckgen_good_device_device_library() {
  static const device_kernels::Codes codes;
  return &codes.library;
}
