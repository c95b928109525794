#include "src/fmha/operation.hpp"

#include <algorithm>
#include <functional>

#include "src/fmha/absent.hpp"
#include "src/fmha/cheapest.hpp"
#include "src/fmha/check_args.hpp"
#include "src/fmha/constants.hpp"
#include "src/fmha/cost.hpp"
#include "src/fmha/explain.hpp"
#include "src/fmha/measured.hpp"
#include "src/fmha/overrides.hpp"
#include "src/fmha/rules.hpp"
#include "src/fmha/shape_words.hpp"
#include "src/fmha/stages.hpp"
#include "src/fmha/tables.hpp"
#include "src/gpu/device_program.hpp"
#include "src/run/launch_stages.hpp"

namespace ckgen::inline v1::detail {
namespace {

std::int32_t most_splits(const InstanceDesc& instance) noexcept {
  return instance.fmha.max_splits;
}

Verdict illegal(const Request& q) noexcept {
  return check_fmha(q.signature, q.problem.fmha());
}

Verdict verdict(const Request& q, const InstanceDesc& instance, std::uint32_t k_batch) noexcept {
  return fmha_verdict<Verdict>(q, instance.fmha, k_batch);
}

bool takes(const Request& q, const InstanceDesc& instance, std::uint32_t k_batch) noexcept {
  return fmha_verdict<Fits>(q, instance.fmha, k_batch).ok();
}

Verdict untried(const Request& q) noexcept {
  return no_fmha_instance(q.signature.fmha, q.problem.fmha());
}

std::int64_t key_batch(const Request& q) noexcept {
  return q.sizes.batch;
}

/// N: the columns that a row sees, the same for all instances.
Sizes cost_sizes(const Request& q) noexcept {
  return {0, static_cast<std::int64_t>(mean_columns(q.signature.fmha, q.problem.fmha())), 0, 0};
}

bool takes_every_batch(const InstanceDesc& instance) noexcept {
  const FmhaConfig& c = instance.fmha;
  return c.pad_q && c.pad_k && c.max_keys == 0 && c.max_rows == 0 && c.cache_limit == 0 && !c.needs_keys;
}

/// By the problem's own sizes beside those.
SplitCost cost(const Request& q, const InstanceDesc& instance, const Sizes& of) noexcept {
  return best_splits(instance.fmha, q.signature.fmha, q.problem.fmha(), q.cu_num, static_cast<std::uint64_t>(of.n));
}

void settle(const Problem& asked, const InstanceDesc&, Problem& own) noexcept {
  own.fmha(asked.fmha());
}

/// Splits of KV are combined, not added to O.
bool resets_output(const Stage&) noexcept {
  return false;
}

/// Lengths of a GPU's problem are in its memory: only the kernel sees them.
Status check_run(const Plan& plan, const RunArgs& args) noexcept {
  const auto& of = args.as<FmhaArgs>();
  if (const Status status = check_args(plan.problem, of); !status.ok()) return status;
  const InstanceDesc& instance = *plan.stages[plan.stage_count - 1].instance;
  if (of.seqlen_k != nullptr && !instance.fmha.pad_k)
    return Status::error(StatusCode::invalid_argument, "seqlen_k is given, and %s takes whole tiles of %d keys only",
                         instance.name, instance.fmha.n0);
  if (plan.device.kind() == DeviceKind::gpu) return Status::success();
  return check_fmha_lengths(plan.problem, of);
}

Leftover leftover(const DeviceCode& code) noexcept {
  if (code.fmha == nullptr) return {};
  return {code.fmha->partials, static_cast<std::uint8_t>(FmhaStage::combine)};
}

void give(const RunArgs& args, Launch& launch) noexcept {
  launch.fmha = &args.as<FmhaArgs>();
}

Status launch(const Plan& plan, const RunArgs& args, void* workspace, Stream stream) noexcept {
  if (fmha_is_empty(plan.problem.signature().fmha, plan.problem.fmha())) return Status::success();
  return launch_in_order(plan, args, workspace, stream);
}

std::string sizes(const Request& q) {
  return fmha_sizes(q.signature.fmha, q.problem.fmha());
}

/// Without commas, as fields of verbose lines and cells of lists have them.
std::string in_field(const Problem& problem) {
  std::string text = fmha_sizes(problem.signature().fmha, problem.fmha());
  std::replace(text.begin(), text.end(), ',', ';');
  return text;
}

std::string brief(const Problem& problem) {
  std::string text = in_field(problem);
  if (problem.deterministic()) text += problem.batch_invariant() ? " batch_invariant" : " deterministic";
  if (problem.strategy() != Strategy::any) text += " strategy=" + std::string(name(problem.strategy()));
  return text;
}

/// Adds sizes by twos.
struct ShapeHasher {
  ShapeHash& hash;
  std::uint64_t first = 0;
  bool has_first = false;

  template <class Size>
  void operator()(const char*, Size size, Said) noexcept {
    if (has_first) hash.add(first, static_cast<std::uint64_t>(size));
    first = static_cast<std::uint64_t>(size);
    has_first = !has_first;
  }
  void operator()(const FmhaShape& x) noexcept {
    hash.add(static_cast<std::uint64_t>(static_cast<std::uint32_t>(x.window_left)) << 32 |
                 static_cast<std::uint32_t>(x.window_right),
             static_cast<std::uint64_t>(static_cast<std::uint32_t>(x.sink_tokens)) << 1 |
                 static_cast<std::uint64_t>(x.corner == FmhaCorner::top_left));
  }
};

void hash_shape(const Request& q, ShapeHash& hash) noexcept {
  ShapeHasher hasher{hash};
  visit_shape(q.signature.fmha, q.problem.fmha(), std::ref(hasher));
  if (hasher.has_first) hash.add(hasher.first, 0);
}

void write_shape(const Request& q, ShapeCells& cells) {
  cells = {};
  cells.sizes = in_field(q.problem);
}

std::string demands(const InstanceDesc& instance, std::uint32_t) {
  return fmha_demands(instance.fmha);
}

std::string details(const Request& q, const InstanceDesc& instance, bool supported) {
  if (instance.fmha.max_splits <= 1 || !supported) return {};
  return fmha_splits(instance.fmha, q.signature.fmha, q.problem.fmha(), q.cu_num);
}

}  // namespace

constinit const Operation fmha_operation = {
    .op = Op::fmha,
    .registering = {.is_known = is_known_fmha,
                    .instance_flaw = fmha_instance_flaw,
                    .unit_flaw = fmha_unit_flaw,
                    .foreign_instance_flaw = not_attention_flaw,
                    .stages_flaw = fmha_stages_flaw,
                    .own_table = fmha_table_of,
                    .hash_own_table = hash_fmha_table,
                    .most_splits = most_splits,
                    .write = write_fmha},
    .selecting = {.illegal = illegal,
                  .verdict = verdict,
                  .takes = takes,
                  .untried = untried,
                  .key_batch = key_batch,
                  .cost_sizes = cost_sizes,
                  .cost = cost,
                  .note = fmha_note,
                  .cheapest = cheapest_fmha,
                  .costs_sizes = false,
                  .takes_every_batch = takes_every_batch,
                  .next_measured = next_fmha_row,
                  .measured_splits = fmha_row_splits},
    .listing = {.read_override = read_fmha_override,
                .override_key = fmha_override_key,
                .read_shape = read_fmha_shape,
                .measured_key = fmha_measured_key,
                .hash_shape = hash_shape,
                .write_shape = write_shape},
    .running = {.what = "attention",
                .check_extents = check_fmha_extents,
                .settle = settle,
                .resets_output = resets_output,
                .leftover = leftover,
                .fill_stages = fill_fmha_stages,
                .check_args = check_run,
                .give = give,
                .launch_own = launch_fmha_stage,
                .launch = launch},
    .explaining = {.signature = fmha_described,
                   .sizes = sizes,
                   .brief = brief,
                   .demands = demands,
                   .details = details,
                   .measured = "seqlen_k",
                   .absent = fmha_absent_row,
                   .nearest = fmha_absent},
};

}  // namespace ckgen::inline v1::detail
