// The split-KV planner over the C API: any problem, within small batches of any lengths, and arrays of any room.
#include <ckgen/c_api.h>
#include <ckgen/c_api_fmha_split.h>

#include "fuzz.hpp"

namespace fuzz::fuzz_c_api_splits {
namespace {

constexpr std::int32_t kMostBatch = 6;
constexpr std::int64_t kMostItems = 4096;

void run(Bytes bytes) {
  Draw draw(bytes);
  char text[200];
  const ckgen_message message{text, sizeof text};
  std::int32_t q[kMostBatch], k[kMostBatch];
  for (std::int32_t& one : q) one = draw.number<std::int32_t>();
  for (std::int32_t& one : k) one = draw.number<std::int32_t>();
  ckgen_fmha_split_problem p{};
  p.size = sizeof p;
  expect(ckgen_fmha_split_defaults(&p, message) == CKGEN_OK, "defaults are given");
  p.seqlen_q = draw.byte() < 250 ? q : nullptr;
  p.seqlen_k = draw.byte() < 250 ? k : nullptr;
  p.batch = static_cast<std::int32_t>(draw.byte() % (kMostBatch + 2)) - 1;
  p.heads_q = p.heads_k = p.hdim_v = 8;
  p.m0 = p.n0 = 16;
  p.cu_num = 16;
  for (std::int32_t* field :
       {&p.heads_q,          &p.heads_k,        &p.hdim_v,     &p.merge_heads,      &p.m0,           &p.n0,
        &p.page_size,        &p.masked,         &p.corner,     &p.window_left,      &p.window_right, &p.sink_tokens,
        &p.cu_num,           &p.occupancy,      &p.max_splits, &p.fixed_split_size, &p.no_split,     &p.cost_item_row,
        &p.cost_partial_row, &p.workgroup_heads})
    if (draw.coin()) *field = draw.number<std::int32_t>();
  // the planner's time grows with the tiles, of which there are no more than this
  p.max_workgroups = draw.coin() ? draw.number<std::int64_t>() % (kMostItems + 1) : kMostItems;
  if (draw.byte() >= 250) p.size = draw.number<std::uint64_t>();
  ckgen_fmha_split_sizes sizes{};
  sizes.size = sizeof sizes;
  const bool counted = ckgen_fmha_split_count(&p, &sizes, message) == CKGEN_OK;
  ckgen_fmha_split_sizes bound{};
  bound.size = sizeof bound;
  static_cast<void>(ckgen_fmha_split_bound(&p, draw.number<std::int32_t>(), draw.number<std::int32_t>(),
                                           draw.number<std::int64_t>(), &bound, message));
  ckgen_fmha_split_slice slices[CKGEN_FMHA_SPLIT_SLICES];
  std::int64_t total = 0;
  for (const ckgen_fmha_split_sizes* one : {&sizes, &bound})
    static_cast<void>(ckgen_fmha_split_workspace(one, p.batch, p.hdim_v, slices, &total, message));
  if (!counted || sizes.items > kMostItems || sizes.combine_items > kMostItems) return;
  std::vector<ckgen_fmha_split_item> items(static_cast<std::size_t>(sizes.items));
  std::vector<ckgen_fmha_combine_item> combines(static_cast<std::size_t>(sizes.combine_items));
  std::vector<std::int32_t> splits(kMostBatch + 1);
  std::vector<std::int64_t> indptr(kMostBatch + 2);
  const bool enough = draw.byte() < 200;
  ckgen_fmha_split_arrays arrays{sizeof arrays,
                                 items.data(),
                                 enough ? sizes.items : draw.byte() % (sizes.items + 1),
                                 combines.data(),
                                 sizes.combine_items,
                                 draw.coin() ? splits.data() : nullptr,
                                 draw.coin() ? indptr.data() : nullptr};
  ckgen_fmha_split_sizes planned{};
  planned.size = sizeof planned;
  const ckgen_status status = ckgen_fmha_split_plan(&p, &arrays, &planned, message);
  expect(status != CKGEN_OK || planned.items == sizes.items, "a plan is as large as it was counted");
}

std::vector<std::string> seeds() {
  std::vector<std::string> found;  // even bytes keep a field's own value
  for (const char fill : {'\0', '\1', '\6', '\x46', '\x7a', '\x7f'}) found.emplace_back(160, fill);
  return found;
}

}  // namespace

const Target c_api_splits{"c_api_splits", run, seeds};

}  // namespace fuzz::fuzz_c_api_splits
