// The C API's other calls: stream-K partitions, tokens by expert, orders of B, and runs with any arguments.
#include <ckgen/c_api.h>

#include "c_api_world.hpp"
#include "fuzz.hpp"

namespace fuzz::fuzz_c_api_calls {
namespace {

void partitions(Draw& draw, const ckgen_message& message) {
  std::int64_t sizes[4], tile[3], first = 0, last = 0;
  for (std::int64_t& one : sizes) one = draw.number<std::int64_t>();
  for (std::int64_t& one : tile) one = draw.number<std::int64_t>();
  ckgen_stream_k x{};
  x.size = sizeof x;
  const auto grid = draw.number<std::int64_t>(), bytes = draw.number<std::int64_t>();
  static_cast<void>(ckgen_stream_k_partition(sizes, tile, grid, bytes, &x, message));
  for (std::int64_t* field : {&x.num_tiles, &x.iters_per_tile, &x.grid, &x.dp_tiles, &x.sk_tiles})
    if (draw.coin()) *field = draw.number<std::int64_t>();
  static_cast<void>(ckgen_stream_k_workgroup(&x, draw.number<std::int64_t>(), &first, &last, message));
  static_cast<void>(ckgen_stream_k_tile(&x, draw.number<std::int64_t>(), &first, &last, message));
}

void tokens(Draw& draw, const ckgen_message& message) {
  constexpr std::int64_t kMost = 1 << 12;
  const auto count = draw.number<std::int64_t>(), block_m = draw.number<std::int64_t>();
  const auto experts = draw.number<std::uint32_t>(), top_k = draw.number<std::uint32_t>();
  const std::int64_t capacity = ckgen_sorted_capacity(count, experts, top_k, block_m);
  expect(capacity < 0 || capacity % block_m == 0, "room is a multiple of block_m");
  if (capacity > kMost || count > kMost || static_cast<std::int64_t>(top_k) > kMost) return;
  const auto room = static_cast<std::size_t>(std::max<std::int64_t>(capacity, 1));
  const auto given = static_cast<std::size_t>(std::max<std::int64_t>(count, 0)) * top_k;
  if (given > kMost) return;
  std::vector<std::int32_t> ids(given + 1), token_ids(room), expert_ids(room), valid(2);
  std::vector<float> weights(given + 1), sorted_weights(room);
  for (std::int32_t& one : ids)
    one = draw.byte() < 250 && experts > 0 ? static_cast<std::int32_t>(draw.byte() % experts)
                                           : draw.number<std::int32_t>();
  const ckgen_sorted_tokens sorted{token_ids.data(), sorted_weights.data(), expert_ids.data(), valid.data()};
  const bool is_sorted =
      ckgen_sort_tokens(ids.data(), weights.data(), count, experts, top_k, block_m, &sorted, message) == CKGEN_OK;
  const std::vector<std::int32_t> before = ids;
  if (!is_sorted || draw.coin()) {
    for (std::int32_t& one : token_ids) one = draw.number<std::int32_t>();
    for (std::int32_t& one : expert_ids) one = draw.number<std::int32_t>();
    for (std::int32_t& one : valid) one = draw.number<std::int32_t>();
    static_cast<void>(
        ckgen_unsort_tokens(&sorted, count, experts, top_k, block_m, ids.data(), weights.data(), message));
    return;
  }
  expect(ckgen_unsort_tokens(&sorted, count, experts, top_k, block_m, ids.data(), weights.data(), message) == CKGEN_OK,
         "what was sorted is sorted");
  expect(ids == before, "ids come back");
}

void orders(Draw& draw, const ckgen_message& message) {
  constexpr std::size_t kMost = 1 << 14;
  const auto n = draw.number<std::int64_t>(), row_bytes = draw.number<std::int64_t>();
  const auto stride = draw.number<std::int64_t>();
  const auto layout = draw.byte() < 250 ? ckgen_preshuffle_layout() : draw.number<std::int32_t>();
  const bool small = n > 0 && stride > 0 && n < 512 && stride < 512 && row_bytes <= stride;
  std::vector<unsigned char> rows(kMost * 16), shuffled(kMost * 16);
  if (!small && n > 0 && row_bytes > 0 && stride >= row_bytes && n % 16 == 0 && row_bytes % 32 == 0) return;  // legal
  static_cast<void>(ckgen_preshuffle_b(rows.data(), stride, shuffled.data(), n, row_bytes, layout, message));
  static_cast<void>(ckgen_unpreshuffle_b(shuffled.data(), rows.data(), stride, n, row_bytes, layout, message));
}

/// Null, or memory for arrays of a problem whose sizes are below 32.
template <class Pointer>
void point(Draw& draw, Pointer& pointer, void* memory) {
  pointer = draw.byte() < 200 ? static_cast<Pointer>(memory) : nullptr;
}

void runs(Draw& draw, const ckgen_message& message) {
  const World& world = World::get();
  alignas(64) static unsigned char memory[1 << 20];
  const auto size = [&] { return std::int64_t{draw.byte() % 32}; };
  const std::uint64_t signature = signatures()[draw.byte() % signatures().size()];
  std::vector<ckgen_group_size> sizes(4);
  for (ckgen_group_size& one : sizes) one = {size(), size(), size()};
  ckgen_groups* groups = nullptr;
  static_cast<void>(draw.coin() ? ckgen_groups_create(sizes.data(), 4, &groups, message)
                                : ckgen_groups_on_device(4, size(), size(), size(), &groups, message));
  ckgen_problem_fmha attention{};
  attention.size = sizeof attention;
  static_cast<void>(ckgen_problem_fmha_defaults(&attention, message));
  attention.batch = 2;
  attention.seqlen_q = size();
  attention.seqlen_k = size();
  attention.heads_q = attention.heads_k = 2;
  attention.hdim_q = attention.hdim_v = 64;
  attention.seqlen_new = size();
  attention.pages = 64;
  attention.page_size = 16;
  ckgen_problem p{sizeof p, signature, size(), size(), size(), 1, 0, 0, groups, 4, 2, 16, 0, &attention, 1, 0};
  ckgen_plan* plan = nullptr;
  static_cast<void>(ckgen_plan_create(world.dispatcher, world.devices[0], &p, nullptr, &plan, message));
  void* workspace = draw.byte() < 200 ? memory : nullptr;
  ckgen_gemm_args gemm{};
  gemm.size = draw.byte() < 240 ? sizeof gemm : draw.number<std::uint64_t>();
  for (const void** one : {&gemm.a, &gemm.b, &gemm.a_scale, &gemm.b_scale, &gemm.bias, &gemm.a1, &gemm.b1, &gemm.d[0]})
    point(draw, *one, memory);
  point(draw, gemm.c, memory);
  for (std::int64_t* one :
       {&gemm.m, &gemm.n, &gemm.k, &gemm.batch, &gemm.lda, &gemm.ldb, &gemm.ldc, &gemm.batch_stride_a,
        &gemm.batch_stride_b, &gemm.batch_stride_c, &gemm.ldd[0], &gemm.batch_stride_d[0]})
    *one = draw.number<std::int64_t>();
  if (draw.coin()) gemm.m = p.m, gemm.n = p.n, gemm.k = p.k, gemm.batch = 1;
  static_cast<void>(ckgen_run(world.dispatcher, plan, &gemm, workspace, nullptr, message));
  ckgen_group_operands operands[4] = {};
  for (ckgen_group_operands& one : operands) {
    for (const void** field : {&one.a, &one.b, &one.a_scale, &one.b_scale, &one.bias}) point(draw, *field, memory);
    point(draw, one.c, memory);
    for (std::int64_t* field : {&one.lda, &one.ldb, &one.ldc}) *field = draw.number<std::int64_t>();
  }
  ckgen_grouped_args grouped{};
  grouped.size = draw.byte() < 240 ? sizeof grouped : draw.number<std::uint64_t>();
  grouped.operands = draw.byte() < 240 ? operands : nullptr;
  grouped.sizes = draw.byte() < 240 ? sizes.data() : nullptr;
  grouped.count = draw.byte() < 200 ? 4 : draw.number<std::int64_t>();
  static_cast<void>(ckgen_run_grouped(world.dispatcher, plan, &grouped, workspace, nullptr, message));
  ckgen_moe_args moe{};
  moe.size = draw.byte() < 240 ? sizeof moe : draw.number<std::uint64_t>();
  for (const void** one : {&moe.a, &moe.w1, &moe.w2, &moe.a_scale, &moe.w1_scale, &moe.w2_scale})
    point(draw, *one, memory);
  point(draw, moe.c, memory);
  point(draw, moe.sorted.token_ids, memory);
  point(draw, moe.sorted.weights, memory);
  point(draw, moe.sorted.expert_ids, memory);
  point(draw, moe.sorted.valid, memory);
  for (std::int64_t* one : {&moe.tokens, &moe.lda, &moe.ldc}) *one = draw.number<std::int64_t>();
  if (draw.coin()) moe.tokens = p.m;
  static_cast<void>(ckgen_run_moe(world.dispatcher, plan, &moe, workspace, nullptr, message));
  ckgen_fmha_args fmha{};
  fmha.size = draw.byte() < 240 ? sizeof fmha : draw.number<std::uint64_t>();
  for (const void** one : {&fmha.q, &fmha.k, &fmha.v, &fmha.k_new, &fmha.v_new, &fmha.rotary_cos, &fmha.rotary_sin})
    point(draw, *one, memory);
  for (void** one : {&fmha.o, &fmha.k_cache, &fmha.v_cache}) point(draw, *one, memory);
  for (const std::int32_t** one : {&fmha.seqstart_q, &fmha.seqstart_k, &fmha.seqlen_q, &fmha.seqlen_k,
                                   &fmha.block_table, &fmha.kv_indptr, &fmha.kv_pages, &fmha.kv_last_page})
    point(draw, *one, memory);
  point(draw, fmha.lse, memory);
  for (ckgen_fmha_strides* one :
       {&fmha.q_strides, &fmha.k_strides, &fmha.v_strides, &fmha.o_strides, &fmha.k_new_strides, &fmha.v_new_strides})
    *one = {draw.number<std::int64_t>(), draw.number<std::int64_t>(), draw.number<std::int64_t>()};
  fmha.lse_head_stride = draw.number<std::int64_t>();
  fmha.block_table_stride = draw.number<std::int64_t>();
  fmha.scale = draw.raw<float>();
  fmha.p_drop = draw.raw<float>();
  static_cast<void>(ckgen_run_fmha(world.dispatcher, plan, &fmha, workspace, nullptr, message));
  ckgen_plan_destroy(plan);
  ckgen_groups_destroy(groups);
}

void run(Bytes bytes) {
  Draw draw(bytes);
  char text[200];
  const ckgen_message message{text, sizeof text};
  constexpr void (*kCalls[])(Draw&, const ckgen_message&) = {partitions, tokens, orders, runs, runs};
  kCalls[draw.byte() % std::size(kCalls)](draw, message);
}

std::vector<std::string> seeds() {
  std::vector<std::string> found;
  for (char call = 0; call < 5; ++call) {
    for (const char fill : {'\0', '\1', '\x10', '\x41'}) {
      found.emplace_back(301, fill);
      found.back().front() = call;
    }
  }
  return found;
}

}  // namespace

const Target c_api_calls{"c_api_calls", run, seeds};

}  // namespace fuzz::fuzz_c_api_calls
