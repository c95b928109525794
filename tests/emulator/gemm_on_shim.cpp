// A batched GEMM through the dispatcher on whatever HIP runtime CKGEN_HIP_LIBRARY names: once, and from a graph that is
// launched twice, with A doubled before the second time.
//
// Arguments: a file with A and B, the file for the three results, B, M, N, K. Sizes in elements of bf16.
#include <ckgen/ckgen.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <my_kernels/register.hpp>
#include <vector>

#include "device_library.hpp"
#include "on_shim.hpp"

namespace {

using Values = std::vector<std::uint16_t>;

void* on_device(const Values& values) {
  void* memory = nullptr;
  hip("hipMalloc", &memory, values.size() * sizeof values[0]);
  hip("hipMemcpy", memory, static_cast<const void*>(values.data()), values.size() * sizeof values[0], 1);
  return memory;
}

Values from_device(void* memory, std::size_t count) {
  Values values(count);
  hip("hipMemcpy", static_cast<void*>(values.data()), static_cast<const void*>(memory), count * sizeof values[0], 2);
  return values;
}

/// Each value twice as large: one more in bf16's exponent.
Values doubled(Values values) {
  for (std::uint16_t& value : values) {
    if (value != 0) value = static_cast<std::uint16_t>(value + 0x80);
  }
  return values;
}

}  // namespace

int main(int, char** argv) {
  const std::int64_t batch = std::atoi(argv[3]), m = std::atoi(argv[4]), n = std::atoi(argv[5]), k = std::atoi(argv[6]);
  const auto a_count = static_cast<std::size_t>(batch * m * k), b_count = static_cast<std::size_t>(batch * n * k);
  const auto c_count = static_cast<std::size_t>(batch * m * n);
  Values operands(a_count + b_count);
  std::ifstream(argv[1], std::ios::binary)
      .read(reinterpret_cast<char*>(operands.data()), static_cast<std::streamsize>(operands.size() * 2));
  const Values a(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(a_count));
  const Values b(operands.begin() + static_cast<std::ptrdiff_t>(a_count), operands.end());

  ckgen::Registry registry;
  done(my_kernels::register_all(registry));
  done(registry.attach(my_kernels::device_library()));
  const ckgen::Dispatcher dispatcher(registry);  // CKGEN_FORCE names the instance
  done(dispatcher.status());
  const ckgen::Device device = ckgen::Device::current();
  std::printf("on %s with %u compute units\n", device.gfx(), device.cu_num());
  const auto plan = dispatcher.plan(ckgen::gemm("batched_bf16").shape(m, n, k).batch(batch), device);
  done(plan.status());
  done(plan->launchable);
  done(dispatcher.preload(*plan));

  void* stream = nullptr;
  hip("hipStreamCreate", &stream);
  ckgen::GemmArgs args{};
  args.a = on_device(a);
  args.b = on_device(b);
  hip("hipMalloc", &args.c, c_count * 2);
  args.m = m;
  args.n = n;
  args.k = k;
  args.batch = batch;
  args.lda = args.ldb = k;
  args.ldc = n;
  args.batch_stride_a = m * k;
  args.batch_stride_b = n * k;
  args.batch_stride_c = m * n;

  std::ofstream out(argv[2], std::ios::binary);
  const auto keep = [&] {
    hip("hipStreamSynchronize", stream);
    const Values c = from_device(args.c, c_count);
    out.write(reinterpret_cast<const char*>(c.data()), static_cast<std::streamsize>(c_count * 2));
    hip("hipMemset", args.c, 0x55, c_count * 2);
  };
  done(dispatcher.run(*plan, args, nullptr, stream));
  keep();

  void *graph = nullptr, *executable = nullptr;
  hip("hipStreamBeginCapture", stream, 0);
  done(dispatcher.run(*plan, args, nullptr, stream));
  hip("hipStreamEndCapture", stream, &graph);
  hip("hipGraphInstantiate", &executable, graph, static_cast<void*>(nullptr), static_cast<char*>(nullptr),
      std::size_t{0});
  hip("hipGraphLaunch", executable, stream);
  keep();
  const Values twice = doubled(a);
  hip("hipMemcpy", const_cast<void*>(args.a), static_cast<const void*>(twice.data()), a_count * 2, 1);
  hip("hipGraphLaunch", executable, stream);
  keep();
  return 0;
}
