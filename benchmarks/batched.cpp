// One batched GEMM and as many single ones, on this CPU. Arguments: batch, size (M = N = K).
// Prints "<operands> <us of the batch> <us of the single calls>" lines; benchmarks/batched.py reads them.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <bench/register.hpp>
#include <ckgen/ckgen.hpp>

namespace {

using namespace ckgen;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 201;
constexpr int kWarmUp = 20;

[[noreturn]] void fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message);
  std::exit(1);
}

/// A plan with memory of its own for its workspace.
struct Ready {
  Ready(const Dispatcher& dispatcher, const Problem& problem, const Device& device) {
    const Result<Plan> made = dispatcher.plan(problem, device);
    if (!made) fail(made.status());
    plan = *made;
    memory.resize(plan.workspace_size + 64);
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(memory.data());
    workspace = memory.data() + (64 - at % 64) % 64;
  }
  void run(const Dispatcher& dispatcher, const GemmArgs& args) const {
    if (const Status status = dispatcher.run(plan, args, workspace, nullptr); !status.ok()) fail(status);
  }

  Plan plan;
  std::vector<unsigned char> memory;
  unsigned char* workspace = nullptr;
};

double median(std::vector<double>& times) {
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

void measure(const Dispatcher& dispatcher, const Device& device, const char* operands, std::int64_t batch,
             std::int64_t size) {
  const std::string single = "gemm_" + std::string(operands) + "_rcr";
  const Ready whole(dispatcher, gemm(single + "_batched").shape(size, size, size).batch(batch), device);
  const Ready one(dispatcher, gemm(single).shape(size, size, size), device);
  const std::int64_t elements = size * size;
  // 1.0 in bf16 is 0x3f80, a small normal number in fp16
  std::vector<std::uint16_t> a(static_cast<std::size_t>(batch * elements), 0x3f80), b = a, c = a;
  GemmArgs args{};
  args.m = args.n = args.k = args.lda = args.ldb = args.ldc = size;
  args.batch_stride_a = args.batch_stride_b = args.batch_stride_c = elements;

  const auto batched = [&] {
    args.a = a.data(), args.b = b.data(), args.c = c.data(), args.batch = batch;
    whole.run(dispatcher, args);
  };
  const auto loop = [&] {
    args.batch = 1;
    for (std::int64_t i = 0; i < batch; ++i) {
      args.a = a.data() + i * elements, args.b = b.data() + i * elements, args.c = c.data() + i * elements;
      one.run(dispatcher, args);
    }
  };
  const auto timed = [](const auto& body) {
    const Clock::time_point begin = Clock::now();
    body();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  };
  std::vector<double> of_batch, of_loop;
  for (int round = -kWarmUp; round < kRounds; ++round) {
    const double first = timed(batched), second = timed(loop);
    if (round < 0) continue;
    of_batch.push_back(first);
    of_loop.push_back(second);
  }
  std::printf("%s %.1f %.1f\n", operands, median(of_batch), median(of_loop));
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  Registry registry;
  if (const Status status = bench::register_all(registry); !status.ok()) fail(status);
  const Dispatcher dispatcher(registry);
  const Device device = Device::host();
  for (const char* operands : {"bf16", "fp16"})
    measure(dispatcher, device, operands, std::atoll(words[1]), std::atoll(words[2]));
}
