#include "src/grouped_gemm/check_args.hpp"

#include <ckgen/group_args.hpp>
#include <ckgen/scales.hpp>

#include "src/gemm/check_args.hpp"

namespace ckgen::inline v1::detail {
namespace {

Status invalid(const char* text) noexcept {
  return Status::error(StatusCode::invalid_argument, "%s", text);
}

/// Of scales that one group of these sizes has.
Status check_stride(const Signature& s, const GroupedArgs& args, const GroupSize& size) noexcept {
  if (args.a_scale_stride == 0) return Status::success();
  if (s.quant != Quant::blockscale || !scales_a(s.quant, s.scale_block))
    return invalid("a_scale_stride is of block scales of A, which the signature has not");
  const std::int64_t line = args.a_scale_row_major ? (size.k + s.scale_block.k - 1) / s.scale_block.k : size.m;
  if (args.a_scale_stride >= line) return Status::success();
  return Status::error(StatusCode::invalid_argument, "a_scale_stride is %lld, and a line has %lld scales",
                       static_cast<long long>(args.a_scale_stride), static_cast<long long>(line));
}

}  // namespace

Status check_args(const Problem& problem, const GroupedArgs& args) noexcept {
  const Groups* groups = problem.groups();
  if (args.operands == nullptr) return invalid("operands is null");
  if (args.sizes == nullptr) return invalid("sizes is null");
  if (args.count != groups->count())
    return Status::error(StatusCode::invalid_argument, "the arguments are of %lld groups, the plan of %lld",
                         static_cast<long long>(args.count), static_cast<long long>(groups->count()));
  const GroupSize& most = groups->largest();
  const bool is_m_known = !groups->are_on_device();
  if (const Status status = check_stride(problem.signature(), args, {is_m_known ? most.m : 1, most.n, most.k});
      !status.ok())
    return status;
  if (groups->are_on_device()) return Status::success();
  for (std::int64_t i = 0; i < args.count; ++i) {
    const GroupSize& given = args.sizes[i];
    const GroupSize& planned = groups->sizes()[i];
    if (given.m != planned.m || given.n != planned.n || given.k != planned.k)
      return Status::error(StatusCode::invalid_argument,
                           "group %lld has M=%lld N=%lld K=%lld in the arguments, M=%lld N=%lld K=%lld in the plan",
                           static_cast<long long>(i), static_cast<long long>(given.m), static_cast<long long>(given.n),
                           static_cast<long long>(given.k), static_cast<long long>(planned.m),
                           static_cast<long long>(planned.n), static_cast<long long>(planned.k));
    if (given.m == 0 || given.n == 0) continue;
    if (const Status status = check_operands(problem.signature(), args_of_group(args, args.operands[i], given));
        !status.ok())
      return Status::error(status.code, "%s (group %lld)", status.message, static_cast<long long>(i));
  }
  return Status::success();
}

}  // namespace ckgen::inline v1::detail
