#include "src/grouped_gemm/operation.hpp"

#include "src/gemm/check_args.hpp"
#include "src/gemm/explain.hpp"
#include "src/gemm/product.hpp"
#include "src/gemm/request.hpp"
#include "src/grouped_gemm/check_args.hpp"
#include "src/grouped_gemm/rules.hpp"
#include "src/grouped_gemm/stages.hpp"

namespace ckgen::inline v1::detail {
namespace {

const char* code_flaw(const DeviceCode& code) noexcept {
  return code.groups == nullptr ? "says no table of groups" : nullptr;
}

const char* stages_flaw(const DeviceCode& code) noexcept {
  const GroupTableCode* table = code.groups;
  if (table == nullptr) return nullptr;
  if (table->bytes == nullptr) return "its table of groups has no size";
  if ((table->fill == nullptr) != (table->upload == nullptr)) return "it has only one of fill and upload";
  return table->fill == nullptr && table->build == nullptr ? "nothing makes its table of groups" : nullptr;
}

Verdict illegal(const Request& q) noexcept {
  return check_groups(q.signature, q.problem.groups());
}

Verdict verdict(const Request& q, const InstanceDesc& instance, std::uint32_t k_batch) noexcept {
  return supports(instance.constraints, AllGroups(*q.problem.groups()), k_batch, q.deterministic);
}

Sizes cost_sizes(const Request& q) noexcept {
  return alike(*q.problem.groups());
}

void settle(const Problem& asked, const InstanceDesc&, Problem& own) noexcept {
  own.groups(*asked.groups());
}

Status check_run(const Plan& plan, const RunArgs& args) noexcept {
  return check_args(plan.problem, args.as<GroupedArgs>());
}

void give(const RunArgs& args, Launch& launch) noexcept {
  launch.grouped = &args.as<GroupedArgs>();
}

std::string plain(const Signature& signature) {
  return described(signature);
}

/// As in "4 groups of up to 64x1024x512".
std::string groups_text(const Groups& groups) {
  const GroupSize& size = groups.largest();
  return std::to_string(groups.count()) + (groups.are_on_device() ? " groups of at most " : " groups of up to ") +
         std::to_string(size.m) + 'x' + std::to_string(size.n) + 'x' + std::to_string(size.k) +
         (groups.are_on_device() ? " on the device" : "");
}

std::string sizes(const Request& q) {
  return q.problem.groups() != nullptr ? groups_text(*q.problem.groups()) : sizes_text(q);
}

std::string brief(const Problem& problem) {
  const Groups* groups = problem.groups();
  if (groups == nullptr) return brief_text(problem);
  return brief_text(problem, (groups->are_on_device() ? 'G' : 'g') + std::to_string(groups->count()));
}

}  // namespace

constinit const Operation grouped_gemm_operation = {
    .op = Op::grouped_gemm,
    .registering = {.is_known = is_known_product,
                    .code_flaw = code_flaw,
                    .stages_flaw = stages_flaw,
                    .most_splits = most_k_splits},
    .selecting = {.illegal = illegal,
                  .verdict = verdict,
                  .key_batch = gemm_key_batch,
                  .cost_sizes = cost_sizes,
                  .cost = gemm_cost},
    .listing = {.read_override = read_batch},
    .running = {.what = "a grouped GEMM",
                .check_extents = check_gemm_extents,
                .settle = settle,
                .resets_output = splits_add,
                .clear = clear_groups,
                .fill_stages = fill_grouped_stages,
                .check_args = check_run,
                .give = give,
                .launch_own = upload_groups},
    .explaining = {.signature = plain, .sizes = sizes, .brief = brief, .demands = demands_text},
};

}  // namespace ckgen::inline v1::detail
