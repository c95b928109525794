// The lengths of sequences of differing length, where they are in host memory.
#include <algorithm>

#include "src/fmha/check_args.hpp"
#include "src/fmha/rules.hpp"

namespace ckgen::inline v1::detail {
namespace {

/// Lengths of sequences along one axis: either from `start` to `start`, or `length` of them.
struct Lengths {
  const char* axis;
  const std::int32_t* start;
  const std::int32_t* length;
  std::int64_t least, most;  // of one sequence
  std::int64_t rows;         // of all, where `start` says where they lie
};

Status check_lengths(const Lengths& x, std::int64_t batch) noexcept {
  if (x.start == nullptr && x.length == nullptr) return Status::success();
  if (x.start != nullptr && x.start[0] < 0)
    return Status::error(StatusCode::invalid_argument, "seqstart_%s[0] = %d is below 0", x.axis, x.start[0]);
  for (std::int64_t b = 0; b < batch; ++b) {
    const auto at = static_cast<long long>(b);
    std::int64_t room = x.most;
    if (x.start != nullptr) {
      if (x.start[b + 1] < x.start[b])
        return Status::error(StatusCode::invalid_argument, "seqstart_%s[%lld] = %d is below %d before it", x.axis,
                             at + 1, x.start[b + 1], x.start[b]);
      room = x.start[b + 1] - std::int64_t{x.start[b]};
    }
    const std::int64_t length = x.length != nullptr ? x.length[b] : room;
    const std::int64_t most = std::min(room, x.most);
    if (length < x.least || length > (x.length != nullptr ? most : x.most))
      return Status::error(
          StatusCode::invalid_argument, "sequence %lld has a seqlen_%s of %lld, not within %lld to %lld", at, x.axis,
          static_cast<long long>(length), static_cast<long long>(x.least), static_cast<long long>(most));
  }
  if (x.start == nullptr || x.start[batch] <= x.rows) return Status::success();
  return Status::error(StatusCode::invalid_argument, "seqstart_%s ends at %d, behind the plan's %lld rows", x.axis,
                       x.start[batch], static_cast<long long>(x.rows));
}

}  // namespace

Status check_fmha_lengths(const Problem& problem, const FmhaArgs& args) noexcept {
  const FmhaShape& x = problem.fmha();
  // Of append the host kernel checks them, and the pages.
  const FmhaTraits& traits = problem.signature().fmha;
  if (fmha_is_empty(traits, x) || appends(traits)) return Status::success();
  const std::int64_t rows = x.total_q != 0 ? x.total_q : x.batch * x.seqlen_q;
  const Status status = check_lengths({"q", args.seqstart_q, args.seqlen_q, 0, x.seqlen_q, rows}, x.batch);
  if (!status.ok()) return status;
  const std::int64_t least = has_lengths(problem.signature().fmha) ? x.min_seqlen_k : 0;
  return check_lengths({"k", args.seqstart_k, args.seqlen_k, least, x.seqlen_k, kMostFmha}, x.batch);
}

}  // namespace ckgen::inline v1::detail
