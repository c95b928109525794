// One batched GEMM and as many single ones, on this CPU. Arguments: batch, size (M = N = K).
// Prints "<operands> <us of the batch> <us of the single calls>" lines; benchmarks/batched.py reads them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <bench/register.hpp>
#include <ckgen/ckgen.hpp>

#include "interleaved.hpp"

namespace {

using namespace ckgen;

void measure(const Dispatcher& dispatcher, const Device& device, const char* operands, std::int64_t batch,
             std::int64_t size) {
  const std::string single = "gemm_" + std::string(operands) + "_rcr";
  bench::Ready whole(dispatcher, gemm(single + "_batched").shape(size, size, size).batch(batch), device);
  bench::Ready one(dispatcher, gemm(single).shape(size, size, size), device);
  const std::int64_t elements = size * size;
  // 1.0 in bf16 is 0x3f80, a small normal number in fp16
  std::vector<std::uint16_t> a(static_cast<std::size_t>(batch * elements), 0x3f80), b = a, c = a;
  GemmArgs args{};
  args.m = args.n = args.k = args.lda = args.ldb = args.ldc = size;
  args.batch_stride_a = args.batch_stride_b = args.batch_stride_c = elements;

  const auto batched = [&] {
    args.a = a.data(), args.b = b.data(), args.c = c.data(), args.batch = batch;
    whole.run(args);
  };
  const auto loop = [&] {
    args.batch = 1;
    for (std::int64_t i = 0; i < batch; ++i) {
      args.a = a.data() + i * elements, args.b = b.data() + i * elements, args.c = c.data() + i * elements;
      one.run(args);
    }
  };
  bench::Turns turns = bench::by_turns(batched, loop);
  std::printf("%s %.1f %.1f\n", operands, turns.first.median(), turns.second.median());
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  Registry registry;
  bench::check(bench::register_all(registry));
  const Dispatcher dispatcher(registry);
  const Device device = Device::host();
  for (const char* operands : {"bf16", "fp16"})
    measure(dispatcher, device, operands, std::atoll(words[1]), std::atoll(words[2]));
}
