// Problems of attention said word by word, and refused where they contradict themselves.
//
//   const auto problem = ckgen::FmhaBuilder().types(DType::bf16).heads(32, 8).seqlen(4096).hdim(128).causal().build();
//   if (!problem) return report(problem.status());   // e.g. "two masks: causal() is window(-1, 0), say one of them"
//
// A FmhaShape with a signature's text says the same (ckgen/problem.hpp).
#pragma once

#include <cstdint>

#include <ckgen/export.h>
#include <ckgen/problem.hpp>
#include <ckgen/result.hpp>

namespace ckgen {
inline namespace v1 {

/// Each setter returns the builder; the last call of one counts. Copyable value; nothing throws or locks.
class CKGEN_API FmhaBuilder {
 public:
  /// Of Q, K, V and O; of K and V, and of O, where they differ.
  FmhaBuilder& types(DType q) noexcept;
  FmhaBuilder& types(DType q, DType kv, DType o) noexcept;
  /// Sequences; 1 unless said.
  FmhaBuilder& batch(std::int64_t sequences) noexcept;
  /// Query heads, and KV heads that they share (GQA, MQA).
  FmhaBuilder& heads(std::int32_t q) noexcept;
  FmhaBuilder& heads(std::int32_t q, std::int32_t k) noexcept;
  /// Rows of Q and of K; of varlen those of the longest sequences. Of append: rows of Q that rotate, and the room of a
  /// sequence in the cache.
  FmhaBuilder& seqlen(std::int64_t q) noexcept;
  FmhaBuilder& seqlen(std::int64_t q, std::int64_t k) noexcept;
  /// Elements of a head of Q and K, and of V and O.
  FmhaBuilder& hdim(std::int32_t q) noexcept;
  FmhaBuilder& hdim(std::int32_t q, std::int32_t v) noexcept;

  FmhaBuilder& backward() noexcept;                                             // gradients
  FmhaBuilder& append(std::int64_t seqlen_new) noexcept;                        // new rows into a cache
  FmhaBuilder& rope(FmhaRope kind, std::int32_t rotary_dim) noexcept;           // of append
  FmhaBuilder& varlen(std::int64_t total_q = 0, bool gaps_q = false) noexcept;  // as FmhaShape has them

  FmhaBuilder& causal(FmhaCorner corner = FmhaCorner::bottom_right) noexcept;  // window(-1, 0)
  FmhaBuilder& window(std::int32_t left, std::int32_t right,
                      FmhaCorner corner = FmhaCorner::bottom_right) noexcept;  // -1: no limit
  FmhaBuilder& sink_tokens(std::int32_t columns) noexcept;                     // first columns, beside a window
  FmhaBuilder& bias() noexcept;                                                // a matrix
  FmhaBuilder& alibi() noexcept;                                               // slopes per head
  FmhaBuilder& softcap() noexcept;                                             // FmhaArgs has the number
  FmhaBuilder& sink() noexcept;                                                // a logit per query head
  FmhaBuilder& lse() noexcept;                                                 // is written
  FmhaBuilder& dropout() noexcept;                                             // bytes of a seed and an offset
  FmhaBuilder& randval() noexcept;                                             // given bytes
  FmhaBuilder& quant(FmhaQuant kind) noexcept;                                 // what shares a descale, of 8 bits
  FmhaBuilder& v_column() noexcept;                                            // V is [hdim_v][length_k] per head

  /// K and V in pages, of which each sequence has a row of numbers, or all share a list. 0 pages: not known.
  FmhaBuilder& block_table(std::int32_t page_size, std::int64_t pages = 0) noexcept;
  FmhaBuilder& page_list(std::int32_t page_size, std::int64_t pages = 0) noexcept;
  FmhaBuilder& vectorized() noexcept;
  /// Promises: the least keys of a sequence; unused rows of pages are finite.
  FmhaBuilder& min_seqlen_k(std::int32_t keys) noexcept;
  FmhaBuilder& finite_kv() noexcept;
  /// A schedule of unequal splits of KV, by the numbers that FmhaShape has of it.
  FmhaBuilder& splits(std::int64_t items, std::int64_t combines, std::int64_t rows, std::int32_t m0, std::int32_t n0,
                      bool merged = false) noexcept;

  FmhaBuilder& deterministic() noexcept;  // as Problem has them
  FmhaBuilder& batch_invariant() noexcept;
  FmhaBuilder& num_threads(std::int32_t most) noexcept;

  /// The problem. invalid_argument: the first rule that what was said breaks, and what to do.
  Result<Problem> build() const noexcept;

 private:
  FmhaBuilder& pages(FmhaKv kv, std::int32_t page_size, std::int64_t pages) noexcept;
  FmhaBuilder& mask(std::int32_t left, std::int32_t right, FmhaCorner corner) noexcept;

  std::uint64_t said_ = 0;  // a bit for each setter
  DType a_ = DType::none, b_ = DType::none, c_ = DType::none;
  FmhaTraits traits_;
  FmhaShape shape_;
  std::int32_t num_threads_ = 0;
  bool deterministic_ = false;
  bool batch_invariant_ = false;
};

}  // namespace v1
}  // namespace ckgen
