// Attention through the dispatcher, on whatever HIP runtime CKGEN_HIP_LIBRARY names: varlen with a causal mask and lse,
// or, with three arguments more, one row of each sequence over vectorized pages.
//
// Arguments: a file with Q, K, V in bf16 and the starts of Q's and K's sequences in int32, the file for O and lse,
// batch, heads of Q and of K, the longest of Q's and K's sequences, rows of Q and of K, the head dim; over pages, whose
// file has lengths and block tables instead of starts, and for O alone: rows of a page, pages, entries of a table.
#include <ckgen/ckgen.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <my_kernels/register.hpp>
#include <vector>

#include "device_library.hpp"
#include "on_shim.hpp"

namespace {

/// Memory of the device with the next bytes of a file.
void* next_of(std::ifstream& file, std::int64_t bytes) {
  std::vector<char> values(static_cast<std::size_t>(bytes));
  file.read(values.data(), static_cast<std::streamsize>(bytes));
  void* memory = nullptr;
  hip("hipMalloc", &memory, values.size());
  hip("hipMemcpy", memory, static_cast<const void*>(values.data()), values.size(), 1);
  return memory;
}

}  // namespace

int main(int count, char** argv) {
  const auto number = [&](int index) { return std::int64_t{std::atoi(argv[index])}; };
  ckgen::FmhaShape shape;
  shape.batch = number(3);
  shape.heads_q = static_cast<std::int32_t>(number(4));
  shape.heads_k = static_cast<std::int32_t>(number(5));
  shape.seqlen_q = number(6);
  shape.seqlen_k = number(7);
  shape.total_q = number(8);
  shape.hdim_q = shape.hdim_v = static_cast<std::int32_t>(number(10));
  const std::int64_t total_k = number(9), d = shape.hdim_q;
  const bool paged = count > 11;
  if (paged) {
    shape.page_size = static_cast<std::int32_t>(number(11));
    shape.pages = number(12);
    shape.min_seqlen_k = 1;
    shape.finite_kv = true;
  }

  ckgen::Registry registry;
  done(my_kernels::register_all(registry));
  done(registry.attach(my_kernels::device_library()));
  const ckgen::Dispatcher dispatcher(registry);
  done(dispatcher.status());
  const ckgen::Device device = ckgen::Device::current();
  const char* const signature = paged ? "bf16_blocktable_vectorized" : "bf16_varlen_masked_lse";
  const auto plan = dispatcher.plan(ckgen::fmha(signature).fmha(shape), device);
  done(plan.status());
  done(plan->launchable);
  done(dispatcher.preload(*plan));

  std::ifstream in(argv[1], std::ios::binary);
  ckgen::FmhaArgs args;
  args.q = next_of(in, shape.total_q * shape.heads_q * d * 2);
  args.k = next_of(in, total_k * shape.heads_k * d * 2);
  args.v = next_of(in, total_k * shape.heads_k * d * 2);
  if (paged) {
    args.block_table_stride = number(13);
    args.seqlen_k = static_cast<const std::int32_t*>(next_of(in, shape.batch * 4));
    args.block_table = static_cast<const std::int32_t*>(next_of(in, shape.batch * args.block_table_stride * 4));
  } else {
    args.seqstart_q = static_cast<const std::int32_t*>(next_of(in, (shape.batch + 1) * 4));
    args.seqstart_k = static_cast<const std::int32_t*>(next_of(in, (shape.batch + 1) * 4));
  }
  const std::int64_t o_bytes = shape.total_q * shape.heads_q * d * 2, lse_bytes = shape.total_q * shape.heads_q * 4;
  void* lse = nullptr;
  hip("hipMalloc", &args.o, static_cast<std::size_t>(o_bytes));
  hip("hipMalloc", &lse, static_cast<std::size_t>(lse_bytes));
  if (!paged) args.lse = static_cast<float*>(lse);
  args.q_strides = args.o_strides = {shape.heads_q * d, d, shape.heads_q * d};
  args.k_strides = args.v_strides = {shape.heads_k * d, d, 0};
  if (paged) args.k_strides = args.v_strides = {d, shape.page_size * d, shape.page_size * shape.heads_k * d};
  args.lse_head_stride = shape.total_q;
  args.scale = 1.0F / std::sqrt(static_cast<float>(d));

  void* stream = nullptr;
  hip("hipStreamCreate", &stream);
  done(dispatcher.run(*plan, args, stream));
  hip("hipStreamSynchronize", stream);
  std::ofstream out(argv[2], std::ios::binary);
  keep(out, args.o, o_bytes);
  if (!paged) keep(out, args.lse, lse_bytes);
  std::printf("on %s\n", device.gfx());
  return 0;
}
