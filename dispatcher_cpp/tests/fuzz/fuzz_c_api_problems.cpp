// Problems and selections over the C API: any sizes, fields, numbers of signatures, enumerators and null pointers.
#include <ckgen/c_api.h>

#include "c_api_world.hpp"
#include "fuzz.hpp"

namespace fuzz::fuzz_c_api_problems {
namespace {

ckgen_problem_fmha attention_of(Draw& draw) {
  ckgen_problem_fmha x{};
  x.size = draw.byte() < 240 ? sizeof x : draw.number<std::uint64_t>();
  for (std::int64_t* field : {&x.batch, &x.seqlen_q, &x.seqlen_k, &x.pages, &x.total_q, &x.split_items,
                              &x.split_combines, &x.split_rows, &x.seqlen_new})
    *field = draw.number<std::int64_t>();
  for (std::int32_t* field : {&x.heads_q, &x.heads_k, &x.hdim_q, &x.hdim_v, &x.corner, &x.window_left, &x.window_right,
                              &x.sink_tokens, &x.page_size, &x.split_m0, &x.split_n0, &x.split_merged, &x.rotary_dim,
                              &x.min_seqlen_k, &x.finite_kv, &x.gaps_q})
    *field = draw.number<std::int32_t>();
  return x;
}

ckgen_problem problem_of(Draw& draw, const ckgen_groups* groups, const ckgen_problem_fmha* attention) {
  ckgen_problem p{};
  p.size = draw.byte() < 240 ? sizeof p : draw.number<std::uint64_t>();
  p.signature = draw.byte() < 200 ? signatures()[draw.byte() % signatures().size()] : draw.raw<std::uint64_t>();
  for (std::int64_t* field : {&p.m, &p.n, &p.k, &p.batch}) *field = draw.number<std::int64_t>();
  for (std::int32_t* field : {&p.deterministic, &p.strategy, &p.block_m}) *field = draw.number<std::int32_t>();
  p.experts = draw.number<std::uint32_t>();
  p.top_k = draw.number<std::uint32_t>();
  p.groups = draw.coin() ? groups : nullptr;
  p.fmha = draw.coin() ? attention : nullptr;
  return p;
}

ckgen_selection selection_of(Draw& draw) {
  ckgen_selection s{};
  s.size = draw.byte() < 240 ? sizeof s : draw.number<std::uint64_t>();
  for (std::uint32_t* field : {&s.instance, &s.k_batch, &s.external, &s.tier, &s.rule})
    *field = draw.number<std::uint32_t>();
  s.table_m = draw.number<std::uint64_t>();
  s.measured = draw.number<std::int64_t>();
  s.limit = draw.number<std::int64_t>();
  return s;
}

void run(Bytes bytes) {
  const World& world = World::get();
  Draw draw(bytes);
  char text[200];
  const ckgen_message message{draw.byte() < 240 ? text : nullptr, draw.number<std::size_t>() % (sizeof text + 1)};
  ckgen_groups* groups = nullptr;
  if (draw.coin()) {
    std::vector<ckgen_group_size> sizes(draw.byte() % 5);
    for (ckgen_group_size& one : sizes)
      one = {draw.number<std::int64_t>(), draw.number<std::int64_t>(), draw.number<std::int64_t>()};
    static_cast<void>(ckgen_groups_create(sizes.data(), static_cast<std::int64_t>(sizes.size()), &groups, message));
  } else {
    static_cast<void>(ckgen_groups_on_device(draw.number<std::int64_t>(), draw.number<std::int64_t>(),
                                             draw.number<std::int64_t>(), draw.number<std::int64_t>(), &groups,
                                             message));
  }
  const ckgen_problem_fmha attention = attention_of(draw);
  const ckgen_problem problem = problem_of(draw, groups, &attention);
  const ckgen_device* device = world.devices[draw.byte() % world.devices.size()];
  ckgen_selection out = selection_of(draw), given = selection_of(draw);
  std::size_t count = 0;
  static_cast<void>(ckgen_select(world.dispatcher, device, &problem, &out, message));
  static_cast<void>(ckgen_next(world.dispatcher, device, &problem, &given, &out, message));
  static_cast<void>(ckgen_enumerate(world.dispatcher, device, &problem, &out, draw.byte() % 2, &count, message));
  static_cast<void>(ckgen_reason(&given, message));
  static_cast<void>(ckgen_reason(&out, message));
  static_cast<void>(ckgen_explain(world.dispatcher, device, &problem, message, draw.coin() ? &count : nullptr));
  for (const ckgen_selection* chosen :
       {static_cast<const ckgen_selection*>(nullptr), static_cast<const ckgen_selection*>(&given)}) {
    ckgen_plan* plan = nullptr;
    const ckgen_status status = ckgen_plan_create(world.dispatcher, device, &problem, chosen, &plan, message);
    expect((status == CKGEN_OK) == (plan != nullptr), "a plan comes where none is refused");
    std::uint64_t workspace = 0;
    static_cast<void>(ckgen_plan_workspace(plan, &workspace, message));
    static_cast<void>(ckgen_plan_selection(plan, &out, message));
    static_cast<void>(ckgen_plan_launchable(plan, message));
    ckgen_plan_destroy(plan);
  }
  ckgen_groups_destroy(groups);
}

std::vector<std::string> seeds() {
  std::vector<std::string> found{std::string(400, '\0'), std::string(400, '\1'), std::string(400, '\x10')};
  for (unsigned i = 0; i < signatures().size(); ++i) {
    std::string seed(400, static_cast<char>(8 + i));
    for (std::size_t at = 0; at < seed.size(); at += 7) seed[at] = static_cast<char>(i);
    found.push_back(seed);
  }
  return found;
}

}  // namespace

const Target c_api_problems{"c_api_problems", run, seeds};

}  // namespace fuzz::fuzz_c_api_problems
