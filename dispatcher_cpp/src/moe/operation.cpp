#include "src/moe/operation.hpp"

#include "src/gemm/explain.hpp"
#include "src/gemm/product.hpp"
#include "src/gemm/request.hpp"
#include "src/gpu/device_program.hpp"
#include "src/moe/caller_owns.hpp"
#include "src/moe/check_args.hpp"
#include "src/moe/launch.hpp"
#include "src/moe/rules.hpp"
#include "src/moe/stages.hpp"

namespace ckgen::inline v1::detail {
namespace {

constexpr const char* kParts = "parts are two, and of a MoE layer";

bool is_known(const Signature& signature) noexcept {
  return is_known_product(signature) && static_cast<int>(signature.moe.part) < kMoePartCount;
}

const char* instance_flaw(const InstanceDesc& instance) noexcept {
  const bool has_parts = instance.parts[0] != 0;
  if (has_parts != (instance.parts[1] != 0)) return kParts;
  return has_parts && instance.signature.moe.part != MoePart::layer ? kParts : nullptr;
}

const char* foreign_instance_flaw(const InstanceDesc& instance) noexcept {
  return instance.parts[0] != 0 || instance.parts[1] != 0 ? kParts : nullptr;
}

Verdict illegal(const Request& q) noexcept {
  return check_routing(q.signature, q.sizes, q.problem.routing());
}

Verdict verdict(const Request& q, const InstanceDesc& instance, std::uint32_t k_batch) noexcept {
  return supports_routing(instance, q.sizes, q.problem, k_batch);
}

std::int64_t key_batch(const Request& q) noexcept {
  return q.problem.routing().lookup_key();
}

Sizes cost_sizes(const Request& q) noexcept {
  return evenly_busy(q.problem);
}

std::string read_routing(const FileRow& row, Routing& routing) {
  std::int64_t counts[2] = {};
  constexpr const char* columns[2] = {"experts", "top_k"};
  for (int i = 0; i < 2; ++i) {
    if (std::string wrong = read_size(row, columns[i], counts[i]); !wrong.empty()) return wrong;
    if (counts[i] > 0xffff) return quoted(std::string(columns[i]) + " is above 65535:", row[columns[i]]);
  }
  routing = {static_cast<std::uint16_t>(counts[0]), static_cast<std::uint16_t>(counts[1])};
  return {};
}

std::string read_override(const FileRow& row, const Signature&, OverrideKey& key) {
  Routing routing;
  std::string wrong = read_routing(row, routing);
  key.batch = routing.lookup_key();
  return wrong;
}

std::string read_shape(const FileRow& row, const Signature& signature, ShapeProblem& shape) {
  Routing routing;
  if (std::string wrong = read_routing(row, routing); !wrong.empty()) return wrong;
  shape.problem = Problem(signature).routing(routing);
  return read_sizes(row, shape);
}

void hash_shape(const Request& q, ShapeHash& hash) noexcept {
  hash.add(q.sizes.m, q.sizes.n);
  hash.add(q.sizes.k, q.problem.routing().lookup_key());
}

void write_shape(const Request& q, ShapeCells& cells) {
  cells.batch = 0;
  cells.experts = q.problem.routing().experts;
  cells.top_k = q.problem.routing().top_k;
}

void settle(const Problem& asked, const InstanceDesc& instance, Problem& own) noexcept {
  own.shape(asked.m(), asked.n(), asked.k()).batch(own.signature().batched ? asked.batch() : 1);
  own.routing(asked.routing()).block_m(instance.macro_tile.m);
}

bool resets_output(const Stage& kernel) noexcept {
  const InstanceDesc& instance = *kernel.instance;
  return instance.signature.moe.part != MoePart::gate_up ? instance.constraints.atomic_split : splits_add(kernel);
}

Leftover leftover(const DeviceCode& code) noexcept {
  if (code.moe == nullptr || code.moe->add_slots == nullptr) return {};
  return {code.moe->slots, static_cast<std::uint8_t>(MoeStage::add_slots), true};
}

void give(const RunArgs& args, Launch& launch) noexcept {
  launch.moe = &args.as<MoeArgs>();
}

/// Of a part of a layer.
Status launch_own(const Stage& stage, const Device& device, void*, Launch& launch) noexcept {
  return stage.program->launch(stage.program->code().moe->add_slots, launch, device);
}

Status check_run(const Plan& plan, const RunArgs& args) noexcept {
  if (const Status status = check_args(plan.problem, args.as<MoeArgs>()); !status.ok()) return status;
  const bool sorts = is(plan.stages[0], MoeStage::sort);
  if (!is_in_parts(plan) || args.as<MoeArgs>().topk_ids == nullptr || sorts) return Status::success();
  return Status::error(StatusCode::invalid_argument,
                       "topk_ids were given, but the plan's problem says that the tokens are sorted in blocks of %d",
                       plan.problem.block_m());
}

std::string in_words(const Signature& signature) {
  const MoeTraits& moe = signature.moe;
  return described(signature, ' ' + std::string(name(moe.part)) + (moe.gated ? " gated" : "") +
                                  (moe.weight_first ? " weightfirst" : ""));
}

std::string row_key(const Request& q) {
  const Routing routing = q.problem.routing();
  return "experts=" + std::to_string(routing.experts) + " top_k=" + std::to_string(routing.top_k);
}

std::string sizes(const Request& q) {
  const std::int32_t block_m = q.problem.block_m();
  return sizes_text(q) + ' ' + row_key(q) + (block_m != 0 ? " block_m=" + std::to_string(block_m) : "");
}

/// Behind the sizes, as in "e8t2s64".
std::string brief(const Problem& problem) {
  const Routing routing = problem.routing();
  const std::string experts = 'e' + std::to_string(routing.experts) + 't' + std::to_string(routing.top_k);
  const std::string blocks = problem.block_m() != 0 ? 's' + std::to_string(problem.block_m()) : "";
  return brief_text(problem, (routing.lookup_key() != 0 ? experts : "") + blocks);
}

}  // namespace

constinit const Operation moe_operation = {
    .op = Op::moe,
    .registering = {.is_known = is_known,
                    .instance_flaw = instance_flaw,
                    .foreign_instance_flaw = foreign_instance_flaw,
                    .most_splits = most_k_splits},
    .selecting = {.illegal = illegal,
                  .verdict = verdict,
                  .key_batch = key_batch,
                  .cost_sizes = cost_sizes,
                  .cost = gemm_cost,
                  .takes_every_batch = gemm_takes_every_batch,
                  .declined = products_verdict},
    .listing = {.read_override = read_override,
                .read_shape = read_shape,
                .hash_shape = hash_shape,
                .write_shape = write_shape},
    .running = {.what = "a MoE layer or a part of one",
                .check_extents = check_moe_extents,
                .settle = settle,
                .resets_output = resets_output,
                .leftover = leftover,
                .fill_stages = fill_moe_stages,
                .check_args = check_run,
                .give = give,
                .launch_own = launch_own,
                .launch = launch_moe},
    .explaining = {.signature = in_words, .sizes = sizes, .brief = brief, .demands = demands_text, .row_key = row_key},
};

}  // namespace ckgen::inline v1::detail
