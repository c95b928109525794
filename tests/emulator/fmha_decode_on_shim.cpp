// A step of decoding over a paged cache of 8-bit floats through the dispatcher: a split-KV plan of this batch's
// lengths, then attention and what combines its splits, on whatever HIP runtime CKGEN_HIP_LIBRARY names.
//
// Arguments: a file with Q, K, V, the descales of K and V, sinks, starts of Q's sequences, lengths of K's, and the
// block table; the file for O and lse; batch, heads of Q and of K, the longest of Q's and of K's sequences, head dims
// of Q and V, rows of a page, pages, entries of a row of the table, a window's left side, sink tokens.
#include <algorithm>
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

/// Memory of the device with the values.
template <class T>
T* to_device(const std::vector<T>& values) {
  void* memory = nullptr;
  if (values.empty()) return nullptr;
  hip("hipMalloc", &memory, values.size() * sizeof(T));
  hip("hipMemcpy", memory, static_cast<const void*>(values.data()), values.size() * sizeof(T), 1);
  return static_cast<T*>(memory);
}

/// The next values of a file.
template <class T>
std::vector<T> next_of(std::ifstream& file, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
  return values;
}

/// Plans and launches a step; `problem` has its shape without a schedule.
void attend(const ckgen::Dispatcher& dispatcher, const ckgen::Device& device, const ckgen::Problem& problem,
            ckgen::FmhaArgs args, const std::vector<std::int32_t>& seqlen_q, const std::vector<std::int32_t>& seqlen_k,
            void* stream) {
  // docs/fmha_split.md
  const ckgen::Selection found = dispatcher.select(problem, device);
  if (!found) return done(dispatcher.plan(problem, device).status());
  const ckgen::InstanceDesc& instance = dispatcher.registry().instance(found.instance);
  const ckgen::FmhaSplitProblem split = ckgen::fmha_split_problem(
      instance, problem.fmha(), device.cu_num(), seqlen_q.data(), seqlen_k.data());  // of this step, on the host

  const auto sizes = ckgen::fmha_split_sizes(split);
  if (!sizes) return done(sizes.status());
  std::vector<ckgen::FmhaSplitItem> items(static_cast<std::size_t>(sizes->items));
  std::vector<ckgen::FmhaCombineItem> combines(static_cast<std::size_t>(sizes->combine_items));
  std::vector<std::int32_t> splits(seqlen_q.size());
  std::vector<std::int64_t> rows(seqlen_q.size() + 1);
  done(ckgen::fmha_split_plan(
           split, {items.data(), sizes->items, combines.data(), sizes->combine_items, splits.data(), rows.data()})
           .status());

  const ckgen::FmhaShape shape = ckgen::with_schedule(problem.fmha(), split, *sizes);
  const auto plan = dispatcher.plan(ckgen::Problem(problem).fmha(shape), device);
  if (!plan) return done(plan.status());
  args.split = {to_device(items), to_device(combines)};
  done(dispatcher.run(*plan, args, stream));
  // docs end
  std::printf("%lld items, %lld combined, %u stages, %llu bytes\n", static_cast<long long>(sizes->items),
              static_cast<long long>(sizes->combine_items), static_cast<unsigned>(plan->stage_count),
              static_cast<unsigned long long>(plan->workspace_size));
}

}  // namespace

int main(int, char** argv) {
  const auto number = [&](int index) { return static_cast<std::int32_t>(std::atoi(argv[index])); };
  ckgen::FmhaShape shape;
  shape.batch = number(3);
  shape.heads_q = number(4);
  shape.heads_k = number(5);
  shape.seqlen_q = number(6);
  shape.seqlen_k = number(7);
  shape.hdim_q = number(8);
  shape.hdim_v = number(9);
  shape.page_size = number(10);
  shape.pages = number(11);
  const std::int64_t stride = number(12), heads_k = shape.heads_k;
  shape.window_left = number(13);
  shape.sink_tokens = number(14);

  ckgen::Registry registry;
  done(my_kernels::register_all(registry));
  done(registry.attach(my_kernels::device_library()));
  const ckgen::Dispatcher dispatcher(registry);
  done(dispatcher.status());
  const ckgen::Device device = ckgen::Device::current();

  std::ifstream in(argv[1], std::ios::binary);
  const auto starts_at = [&](std::int64_t total) { return total * shape.heads_q * shape.hdim_q * 2; };
  shape.total_q = number(15);
  ckgen::FmhaArgs args;
  args.q = to_device(next_of<char>(in, starts_at(shape.total_q)));
  args.k = to_device(next_of<char>(in, shape.pages * shape.page_size * heads_k * shape.hdim_q));
  args.v = to_device(next_of<char>(in, shape.pages * shape.page_size * heads_k * shape.hdim_v));
  args.k_descale = to_device(next_of<float>(in, shape.pages * heads_k));
  args.v_descale = to_device(next_of<float>(in, shape.pages * heads_k));
  args.sink = to_device(next_of<float>(in, shape.heads_q));
  const auto starts = next_of<std::int32_t>(in, shape.batch + 1), seqlen_k = next_of<std::int32_t>(in, shape.batch);
  args.seqstart_q = to_device(starts);
  args.seqlen_k = to_device(seqlen_k);
  args.block_table = to_device(next_of<std::int32_t>(in, shape.batch * stride));
  args.block_table_stride = stride;
  std::vector<std::int32_t> seqlen_q(seqlen_k.size());
  for (std::size_t b = 0; b < seqlen_q.size(); ++b) seqlen_q[b] = starts[b + 1] - starts[b];

  const std::int64_t o_bytes = shape.total_q * shape.heads_q * shape.hdim_v * 2;
  const std::int64_t lse_bytes = shape.total_q * shape.heads_q * 4;
  void* lse = nullptr;
  hip("hipMalloc", &args.o, static_cast<std::size_t>(o_bytes));
  hip("hipMalloc", &lse, static_cast<std::size_t>(lse_bytes));
  args.lse = static_cast<float*>(lse);
  args.q_strides = {shape.heads_q * shape.hdim_q, shape.hdim_q, 0};
  args.o_strides = {shape.heads_q * shape.hdim_v, shape.hdim_v, 0};
  args.k_strides = {heads_k * shape.hdim_q, shape.hdim_q, shape.page_size * heads_k * shape.hdim_q};
  args.v_strides = {heads_k * shape.hdim_v, shape.hdim_v, shape.page_size * heads_k * shape.hdim_v};
  args.lse_head_stride = shape.total_q;
  args.scale = 1.0F / std::sqrt(static_cast<float>(shape.hdim_q));

  void* stream = nullptr;
  hip("hipStreamCreate", &stream);
  const char* words = "bf16_fp8_bf16_varlen_masked_sink_lse_kvblockscale_blocktable";
  attend(dispatcher, device, ckgen::fmha(words).fmha(shape), args, seqlen_q, seqlen_k, stream);
  hip("hipStreamSynchronize", stream);
  std::ofstream out(argv[2], std::ios::binary);
  keep(out, args.o, o_bytes);
  keep(out, args.lse, lse_bytes);
  return 0;
}
