#include "src/gemm/operation.hpp"

#include "src/gemm/check_args.hpp"
#include "src/gemm/explain.hpp"
#include "src/gemm/product.hpp"
#include "src/gemm/request.hpp"

namespace ckgen::inline v1::detail {

bool is_known_product(const Signature& signature) noexcept {
  return signature.quant <= Quant::mx && signature.layout <= Layout::crr;
}

std::int32_t most_k_splits(const InstanceDesc& instance) noexcept {
  return instance.constraints.max_k_batch;
}

bool splits_add(const Stage& kernel) noexcept {
  return kernel.instance->constraints.max_k_batch > 1 && kernel.k_batch != 1;  // a k_batch of 0 may turn out not to
}

std::string read_batch(const FileRow& row, const Signature& signature, OverrideKey& key) {
  return signature.batched ? read_size(row, "B", key.batch) : std::string();
}

std::string read_sizes(const FileRow& row, ShapeProblem& shape) {
  std::int64_t sizes[3] = {};
  constexpr const char* columns[] = {"M", "N", "K"};
  for (int i = 0; i < 3; ++i) {
    if (std::string wrong = read_size(row, columns[i], sizes[i]); !wrong.empty()) return wrong;
  }
  shape.problem.shape(sizes[0], sizes[1], sizes[2]);
  return {};
}

namespace {

std::string read_shape(const FileRow& row, const Signature& signature, ShapeProblem& shape) {
  OverrideKey key{1, {}};
  if (std::string wrong = read_batch(row, signature, key); !wrong.empty()) return wrong;
  shape.problem = Problem(signature).batch(key.batch);
  return read_sizes(row, shape);
}

const char* foreign_instance_flaw(const InstanceDesc& instance) noexcept {
  return instance.stream_k.is_used() ? "stream-K shares one GEMM's tiles only" : nullptr;
}

/// CUTLASS's meet in the workspace.
bool splits_add_to_c(const Stage& kernel) noexcept {
  return splits_add(kernel) && kernel.instance->backend != Backend::cutlass;
}

void settle(const Problem& asked, const InstanceDesc&, Problem& own) noexcept {
  own.shape(asked.m(), asked.n(), asked.k()).batch(own.signature().batched ? asked.batch() : 1);
}

Status check_run(const Plan& plan, const RunArgs& args) noexcept {
  const GemmArgs& given = args.as<GemmArgs>();
  for (std::uint32_t i = 0; given.b_prepacked && i < plan.stage_count; ++i) {
    const InstanceDesc* instance = plan.stages[i].instance;
    if (instance == nullptr || instance->backend == Backend::host) continue;
    return Status::error(StatusCode::unsupported,
                         "%s reads no prepacked B: pass B as it is, or plan for the CPU's own target", instance->name);
  }
  return check_args(plan.problem, given);
}

void give(const RunArgs& args, Launch& launch) noexcept {
  launch.args = &args.as<GemmArgs>();
}

std::string titled(const Signature& signature) {
  return "gemm " + described(signature);
}

std::string brief(const Problem& problem) {
  return brief_text(problem);
}

}  // namespace

constinit const Operation gemm_operation = {
    .op = Op::gemm,
    .registering = {.is_known = is_known_product,
                    .foreign_instance_flaw = foreign_instance_flaw,
                    .most_splits = most_k_splits},
    .selecting = {.illegal = gemm_illegal,
                  .verdict = gemm_verdict,
                  .key_batch = gemm_key_batch,
                  .cost_sizes = gemm_cost_sizes,
                  .cost = gemm_cost,
                  .takes_every_batch = gemm_takes_every_batch},
    .listing = {.read_override = read_batch, .read_shape = read_shape},
    .running = {.what = "a GEMM",
                .check_extents = check_gemm_extents,
                .settle = settle,
                .resets_output = splits_add_to_c,
                .check_args = check_run,
                .give = give},
    .explaining =
        {.signature = titled, .sizes = sizes_text, .brief = brief, .demands = demands_text, .details = partition_text},
};

}  // namespace ckgen::inline v1::detail
