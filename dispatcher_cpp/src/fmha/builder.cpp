#include <ckgen/fmha_builder.hpp>

#include <algorithm>

#include "src/fmha/builder_tables.hpp"
#include "src/fmha/rules.hpp"
#include "src/select/reason.hpp"
#include "src/signature/rules.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

using detail::FmhaSetter;

constexpr std::uint64_t bit(FmhaSetter setter) noexcept {
  return std::uint64_t{1} << static_cast<unsigned>(setter);
}

template <std::size_t N>
Status advised(const char* sentence, const detail::BuilderAdvice (&advice)[N], int rule) noexcept {
  const auto* const found =
      std::find_if(std::begin(advice), std::end(advice), [rule](const auto& one) { return one.rule == rule; });
  const bool known = found != std::end(advice);
  return Status::error(StatusCode::invalid_argument, "%s%s%s", sentence, known ? ": " : "", known ? found->text : "");
}

}  // namespace

FmhaBuilder& FmhaBuilder::types(DType q) noexcept {
  return types(q, q, q);
}
FmhaBuilder& FmhaBuilder::types(DType q, DType kv, DType o) noexcept {
  said_ |= bit(FmhaSetter::types);
  a_ = q, b_ = kv, c_ = o;
  return *this;
}
FmhaBuilder& FmhaBuilder::batch(std::int64_t sequences) noexcept {
  said_ |= bit(FmhaSetter::batch);
  shape_.batch = sequences;
  return *this;
}
FmhaBuilder& FmhaBuilder::heads(std::int32_t q) noexcept {
  return heads(q, q);
}
FmhaBuilder& FmhaBuilder::heads(std::int32_t q, std::int32_t k) noexcept {
  said_ |= bit(FmhaSetter::heads);
  shape_.heads_q = q, shape_.heads_k = k;
  return *this;
}
FmhaBuilder& FmhaBuilder::seqlen(std::int64_t q) noexcept {
  return seqlen(q, q);
}
FmhaBuilder& FmhaBuilder::seqlen(std::int64_t q, std::int64_t k) noexcept {
  said_ |= bit(FmhaSetter::seqlen);
  shape_.seqlen_q = q, shape_.seqlen_k = k;
  return *this;
}
FmhaBuilder& FmhaBuilder::hdim(std::int32_t q) noexcept {
  return hdim(q, q);
}
FmhaBuilder& FmhaBuilder::hdim(std::int32_t q, std::int32_t v) noexcept {
  said_ |= bit(FmhaSetter::hdim);
  shape_.hdim_q = q, shape_.hdim_v = v;
  return *this;
}

FmhaBuilder& FmhaBuilder::backward() noexcept {
  said_ |= bit(FmhaSetter::backward);
  traits_.entry = FmhaEntry::backward;
  return *this;
}
FmhaBuilder& FmhaBuilder::append(std::int64_t seqlen_new) noexcept {
  said_ |= bit(FmhaSetter::append);
  traits_.entry = FmhaEntry::append;
  shape_.seqlen_new = seqlen_new;
  return *this;
}
FmhaBuilder& FmhaBuilder::rope(FmhaRope kind, std::int32_t rotary_dim) noexcept {
  said_ |= bit(FmhaSetter::rope);
  traits_.rope = kind;
  shape_.rotary_dim = rotary_dim;
  return *this;
}
FmhaBuilder& FmhaBuilder::varlen(std::int64_t total_q, bool gaps_q) noexcept {
  said_ |= bit(FmhaSetter::varlen);
  traits_.varlen = true;
  shape_.total_q = total_q, shape_.gaps_q = gaps_q;
  return *this;
}

FmhaBuilder& FmhaBuilder::mask(std::int32_t left, std::int32_t right, FmhaCorner corner) noexcept {
  traits_.masked = true;
  shape_.window_left = left, shape_.window_right = right, shape_.corner = corner;
  return *this;
}
FmhaBuilder& FmhaBuilder::causal(FmhaCorner corner) noexcept {
  said_ |= bit(FmhaSetter::causal);
  return mask(-1, 0, corner);
}
FmhaBuilder& FmhaBuilder::window(std::int32_t left, std::int32_t right, FmhaCorner corner) noexcept {
  said_ |= bit(FmhaSetter::window);
  return mask(left, right, corner);
}
FmhaBuilder& FmhaBuilder::sink_tokens(std::int32_t columns) noexcept {
  said_ |= bit(FmhaSetter::sink_tokens);
  shape_.sink_tokens = columns;
  return *this;
}
FmhaBuilder& FmhaBuilder::bias() noexcept {
  said_ |= bit(FmhaSetter::bias);
  traits_.bias = FmhaBias::elementwise;
  return *this;
}
FmhaBuilder& FmhaBuilder::alibi() noexcept {
  said_ |= bit(FmhaSetter::alibi);
  traits_.bias = FmhaBias::alibi;
  return *this;
}
FmhaBuilder& FmhaBuilder::softcap() noexcept {
  said_ |= bit(FmhaSetter::softcap);
  traits_.softcap = true;
  return *this;
}
FmhaBuilder& FmhaBuilder::sink() noexcept {
  said_ |= bit(FmhaSetter::sink);
  traits_.sink = true;
  return *this;
}
FmhaBuilder& FmhaBuilder::lse() noexcept {
  said_ |= bit(FmhaSetter::lse);
  traits_.lse = true;
  return *this;
}
FmhaBuilder& FmhaBuilder::dropout() noexcept {
  said_ |= bit(FmhaSetter::dropout);
  traits_.dropout = FmhaDropout::philox;
  return *this;
}
FmhaBuilder& FmhaBuilder::randval() noexcept {
  said_ |= bit(FmhaSetter::randval);
  traits_.dropout = FmhaDropout::randval;
  return *this;
}
FmhaBuilder& FmhaBuilder::quant(FmhaQuant kind) noexcept {
  said_ |= bit(FmhaSetter::quant);
  traits_.quant = kind;
  return *this;
}
FmhaBuilder& FmhaBuilder::v_column() noexcept {
  said_ |= bit(FmhaSetter::v_column);
  traits_.v_column = true;
  return *this;
}

FmhaBuilder& FmhaBuilder::pages(FmhaKv kv, std::int32_t page_size, std::int64_t pages) noexcept {
  traits_.kv = kv;
  shape_.page_size = page_size, shape_.pages = pages;
  return *this;
}
FmhaBuilder& FmhaBuilder::block_table(std::int32_t page_size, std::int64_t pages) noexcept {
  said_ |= bit(FmhaSetter::block_table);
  return this->pages(FmhaKv::block_table, page_size, pages);
}
FmhaBuilder& FmhaBuilder::page_list(std::int32_t page_size, std::int64_t pages) noexcept {
  said_ |= bit(FmhaSetter::page_list);
  return this->pages(FmhaKv::page_list, page_size, pages);
}
FmhaBuilder& FmhaBuilder::vectorized() noexcept {
  said_ |= bit(FmhaSetter::vectorized);
  traits_.kv_layout = FmhaKvLayout::vectorized;
  return *this;
}
FmhaBuilder& FmhaBuilder::min_seqlen_k(std::int32_t keys) noexcept {
  said_ |= bit(FmhaSetter::min_seqlen_k);
  shape_.min_seqlen_k = keys;
  return *this;
}
FmhaBuilder& FmhaBuilder::finite_kv() noexcept {
  said_ |= bit(FmhaSetter::finite_kv);
  shape_.finite_kv = true;
  return *this;
}
FmhaBuilder& FmhaBuilder::splits(std::int64_t items, std::int64_t combines, std::int64_t rows, std::int32_t m0,
                                 std::int32_t n0, bool merged) noexcept {
  said_ |= bit(FmhaSetter::splits);
  shape_.split_items = items, shape_.split_combines = combines, shape_.split_rows = rows;
  shape_.split_m0 = m0, shape_.split_n0 = n0, shape_.split_merged = merged;
  return *this;
}

FmhaBuilder& FmhaBuilder::deterministic() noexcept {
  said_ |= bit(FmhaSetter::deterministic);
  deterministic_ = true;
  return *this;
}
FmhaBuilder& FmhaBuilder::batch_invariant() noexcept {
  said_ |= bit(FmhaSetter::batch_invariant);
  batch_invariant_ = true;
  return *this;
}
FmhaBuilder& FmhaBuilder::num_threads(std::int32_t most) noexcept {
  said_ |= bit(FmhaSetter::num_threads);
  num_threads_ = most;
  return *this;
}

Result<Problem> FmhaBuilder::build() const noexcept {
  for (const detail::BuilderContradiction& one : detail::kBuilderContradictions) {
    if ((said_ & one.said) == one.said && (said_ & one.without) == 0)
      return Status::error(StatusCode::invalid_argument, "%s (rule %s)", one.sentence, one.id);
  }
  Signature signature{Op::fmha, a_, b_, c_};
  signature.fmha = traits_;
  if (const auto breach = detail::signature_breach(signature); !breach.status.ok())
    return advised(breach.status.message, detail::kSignatureAdvice, breach.rule);
  if (const detail::Verdict verdict = detail::check_fmha(signature, shape_); !verdict.ok()) {
    const std::string text = detail::reason_text(verdict.rule, verdict.measured, verdict.limit);
    return advised(text.c_str(), detail::kProblemAdvice, verdict.rule);
  }
  Problem problem(signature);
  problem.fmha(shape_).deterministic(deterministic_).batch_invariant(batch_invariant_).num_threads(num_threads_);
  return problem;
}

}  // namespace v1
}  // namespace ckgen
