// What a caller brings: a Signature with sizes, and wishes.
#pragma once

#include <cstdint>
#include <string_view>

#include <ckgen/export.h>
#include <ckgen/fmha.hpp>
#include <ckgen/grouped.hpp>
#include <ckgen/moe.hpp>
#include <ckgen/signature.hpp>
#include <ckgen/status.hpp>
#include <ckgen/strategy.hpp>

namespace ckgen {
inline namespace v1 {

/// A problem of any op. Sizes in elements, 64-bit; `batch` is 1 where the signature is not batched.
/// Strides are arguments of a run, not of the selection. Copyable value; building one never throws or allocates.
class Problem {
 public:
  Problem() noexcept : Problem(Signature{}) {}
  // Only the first character of the message is set: one problem is made per selection, and clearing all costs more.
  explicit Problem(const Signature& signature) noexcept : signature_(signature) {
    status_.code = StatusCode::ok;
    status_.message[0] = '\0';
  }

  Problem& shape(std::int64_t m, std::int64_t n, std::int64_t k) noexcept {
    m_ = m;
    n_ = n;
    k_ = k;
    return *this;
  }
  Problem& batch(std::int64_t batch) noexcept {
    batch_ = batch;
    return *this;
  }
  /// Only instances whose result does not depend on the order in which workgroups finish.
  Problem& deterministic(bool wish = true) noexcept {
    deterministic_ = wish;
    return *this;
  }
  /// Each row of the result is the same bytes whatever other rows, groups or requests stand beside it: one order of
  /// additions for every M (docs/batch_invariance.md). Such a result is deterministic too.
  Problem& batch_invariant(bool wish = true) noexcept {
    batch_invariant_ = wish;
    return *this;
  }

  /// Threads of this CPU that runs of the plan may use, at most; 0: all. They change neither what is selected nor any
  /// result, and a GPU's kernels have none.
  Problem& num_threads(std::int32_t most) noexcept {
    num_threads_ = most;
    return *this;
  }

  /// Only instances of this strategy; `any` leaves it to the dispatcher.
  Problem& strategy(Strategy wish) noexcept {
    strategy_ = wish;
    return *this;
  }

  /// Of op grouped_gemm, in place of shape() and batch(), which become the largest M, N and K, and 1. `groups` must
  /// outlive the Problem and its plans. Groups that all do nothing make no legal problem: there is nothing to run.
  Problem& groups(const Groups& groups) noexcept {
    groups_ = &groups;
    batch_ = 1;
    return shape(groups.largest().m, groups.largest().n, groups.largest().k);
  }

  /// Of op moe, beside shape(tokens, n, k) as moe.hpp says.
  Problem& routing(Routing routing) noexcept {
    routing_ = routing;
    return *this;
  }

  /// Of op moe: the block_m that the caller sorts the tokens with; only instances of that one. 0: any. A plan's problem
  /// has the one that its instance takes.
  Problem& block_m(std::int32_t block_m) noexcept {
    block_m_ = block_m;
    return *this;
  }

  /// Of op fmha, in place of shape() and batch(): M = seqlen_q, N = seqlen_k, K = hdim_q.
  Problem& fmha(const FmhaShape& shape) noexcept {
    fmha_ = shape;
    batch_ = shape.batch;
    return this->shape(shape.seqlen_q, shape.seqlen_k, shape.hdim_q);
  }

  const Signature& signature() const noexcept { return signature_; }
  std::int64_t m() const noexcept { return m_; }
  std::int64_t n() const noexcept { return n_; }
  std::int64_t k() const noexcept { return k_; }
  std::int64_t batch() const noexcept { return batch_; }
  bool deterministic() const noexcept { return deterministic_ || batch_invariant_; }
  bool batch_invariant() const noexcept { return batch_invariant_; }
  Strategy strategy() const noexcept { return strategy_; }
  std::int32_t num_threads() const noexcept { return num_threads_; }
  const Groups* groups() const noexcept { return groups_; }  // null: none were given
  Routing routing() const noexcept { return routing_; }
  std::int32_t block_m() const noexcept { return block_m_; }
  const FmhaShape& fmha() const noexcept { return fmha_; }
  /// Not ok when the text given to gemm() named no signature; every call that takes the Problem returns it.
  const Status& status() const noexcept { return status_; }

  friend Problem gemm(std::string_view signature) noexcept;

 private:
  Signature signature_{};
  std::int64_t m_ = 0;
  std::int64_t n_ = 0;
  std::int64_t k_ = 0;
  std::int64_t batch_ = 1;
  const Groups* groups_ = nullptr;
  Routing routing_{};
  FmhaShape fmha_{};
  std::int32_t block_m_ = 0;
  std::int32_t num_threads_ = 0;
  bool deterministic_ = false;
  bool batch_invariant_ = false;
  Strategy strategy_ = Strategy::any;
  Status status_;
};

/// A GEMM problem from a signature's canonical string or alias, e.g. "a8w8_blockscale", "a8w8:int8:fp16",
/// "gemm_fp16_rcr".
CKGEN_API Problem gemm(std::string_view signature) noexcept;
/// The same from a canonical string of that op, or the alias behind "grouped:" and "moe:", e.g. grouped_gemm("bf16"),
/// moe("a8w8_blockscale:gated:silu").
CKGEN_API Problem grouped_gemm(std::string_view signature) noexcept;
CKGEN_API Problem moe(std::string_view signature) noexcept;
/// The same from a canonical string of op fmha, or what follows "fmha_" or "fmha:" in it, e.g. fmha("bf16_masked_lse").
CKGEN_API Problem fmha(std::string_view signature) noexcept;

}  // namespace v1
}  // namespace ckgen
