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

constexpr std::int64_t kMostGroups = 65'536;
constexpr std::string_view kOnDevice = "on_device ";

void hash_shape(const Request& q, ShapeHash& hash) noexcept {
  hash.add(q.problem.groups()->digest(), q.problem.groups()->count());
}

std::string size_text(const GroupSize& size) {
  return std::to_string(size.m) + 'x' + std::to_string(size.n) + 'x' + std::to_string(size.k);
}

/// As in "8*64x512x1024;32x512x1024"; of groups on the device their number and largest sizes.
std::string each_size(const Groups& groups) {
  std::string text;
  const auto put = [&text](std::int64_t count, const GroupSize& size) {
    text += (count > 1 ? std::to_string(count) + '*' : "") + size_text(size);
  };
  if (groups.are_on_device()) {
    put(groups.count(), groups.largest());
    return text;
  }
  const GroupSize* const sizes = groups.sizes();
  for (std::int64_t i = 0, next = 0; i < groups.count(); i = next) {
    while (next < groups.count() && sizes[next] == sizes[i]) ++next;
    text += i == 0 ? "" : ";";
    put(next - i, sizes[i]);
  }
  return text;
}

/// As in "on_device 8*64x512x1024" of groups on the device.
void write_shape(const Request& q, ShapeCells& cells) {
  const Groups& groups = *q.problem.groups();
  if (groups.are_on_device()) cells.sizes = kOnDevice;
  cells.sizes += each_size(groups);
}

/// What stands before `mark` in a text, which begins behind it then.
std::string_view taken(std::string_view& text, char mark) noexcept {
  const auto at = text.find(mark);
  const std::string_view before = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return before;
}

/// One word of write_shape()'s text.
bool read_group(std::string_view word, std::int64_t& count, GroupSize& size) noexcept {
  count = 1;
  if (word.find('*') != std::string_view::npos && !read_number(taken(word, '*'), 1, count)) return false;
  return read_number(taken(word, 'x'), 0, size.m) && read_number(taken(word, 'x'), 0, size.n) &&
         read_number(word, 0, size.k);
}

/// Without sizes one group of M, N and K.
std::string read_shape(const FileRow& row, const Signature& signature, ShapeProblem& shape) {
  if (std::string wrong = read_sizes(row, shape); !wrong.empty()) return wrong;
  const GroupSize largest{shape.problem.m(), shape.problem.n(), shape.problem.k()};
  std::string_view text = row["sizes"];
  const bool on_device = text.substr(0, kOnDevice.size()) == kOnDevice;
  if (on_device) text.remove_prefix(kOnDevice.size());
  if (text.empty()) shape.sizes.push_back(largest);
  while (!text.empty()) {
    std::int64_t count = 0;
    GroupSize size{};
    if (!read_group(taken(text, ';'), count, size)) return quoted("not the sizes of groups:", row["sizes"]);
    if (on_device) {
      shape.groups = Groups::on_device(count, size.m, size.n, size.k);
      break;
    }
    if (count > kMostGroups - static_cast<std::int64_t>(shape.sizes.size())) return "more than 65536 groups";
    shape.sizes.insert(shape.sizes.end(), static_cast<std::size_t>(count), size);
  }
  if (!shape.groups) shape.groups.emplace(shape.sizes.data(), static_cast<std::int64_t>(shape.sizes.size()));
  if (!text.empty() || shape.groups->largest() != largest)
    return quoted("M, N and K are not the largest of", row["sizes"]);
  shape.problem = Problem(signature).groups(*shape.groups);
  return {};
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

/// As in "b0m64n512k1024g9:8*64x512x1024;32x512x1024"; G of groups on the device.
std::string brief(const Problem& problem) {
  const Groups* groups = problem.groups();
  if (groups == nullptr) return brief_text(problem);
  const char mark = groups->are_on_device() ? 'G' : 'g';
  return brief_text(problem, mark + std::to_string(groups->count()) + ':' + each_size(*groups));
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
                  .cost = gemm_cost,
                  .takes_every_batch = gemm_takes_every_batch},
    .listing = {.read_override = read_batch,
                .read_shape = read_shape,
                .hash_shape = hash_shape,
                .write_shape = write_shape},
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
