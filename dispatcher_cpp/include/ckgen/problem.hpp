// What a caller brings: a Signature with sizes, and wishes.
#pragma once

#include <cstdint>
#include <string_view>

#include <ckgen/signature.hpp>
#include <ckgen/status.hpp>
#include <ckgen/strategy.hpp>

namespace ckgen {
inline namespace v1 {

/// A GEMM problem. Sizes in elements, 64-bit; `batch` is 1 where the signature is not batched.
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

  /// Only instances of this strategy; `any` leaves it to the dispatcher.
  Problem& strategy(Strategy wish) noexcept {
    strategy_ = wish;
    return *this;
  }

  const Signature& signature() const noexcept { return signature_; }
  std::int64_t m() const noexcept { return m_; }
  std::int64_t n() const noexcept { return n_; }
  std::int64_t k() const noexcept { return k_; }
  std::int64_t batch() const noexcept { return batch_; }
  bool deterministic() const noexcept { return deterministic_; }
  Strategy strategy() const noexcept { return strategy_; }
  /// Not ok when the text given to gemm() named no signature; every call that takes the Problem returns it.
  const Status& status() const noexcept { return status_; }

  friend Problem gemm(std::string_view signature) noexcept;

 private:
  Signature signature_{};
  std::int64_t m_ = 0;
  std::int64_t n_ = 0;
  std::int64_t k_ = 0;
  std::int64_t batch_ = 1;
  bool deterministic_ = false;
  Strategy strategy_ = Strategy::any;
  Status status_;
};

/// A GEMM problem from a signature's canonical string or alias, e.g. "a8w8_blockscale", "a8w8:int8:fp16",
/// "gemm_fp16_rcr".
Problem gemm(std::string_view signature) noexcept;

}  // namespace v1
}  // namespace ckgen
