// A mixture-of-experts layer: which of its products a signature means, how tokens are routed, and what is passed to
// run.
//
// For token t, slot s of its top_k experts, e = topk_ids[t][s], w = topk_weights[t][s]:
//   gate_up  H[t][s] = act(X * W1[e].gate) (* X * W1[e].up where gated), X = w * A[t] where weight_first, else A[t]
//            without a gate and an activation: the raw product, a row of C's type per slot
//   down     C[t] = sum over s of (H[t][s] * W2[e], times w unless weight_first)
//   layer    gate_up, then down; a quantised A means that H is quantised by the same scheme in between
// W1[e] is (gated ? 2 : 1) * inter_dim rows of model_dim elements, gate rows first; W2[e] is model_dim rows of
// inter_dim. Sizes of a Problem: M = tokens; gate_up and layer N = inter_dim, K = model_dim; down N = model_dim, K =
// inter_dim.
#pragma once

#include <cstdint>

#include <ckgen/export.h>
#include <ckgen/words.hpp>

namespace ckgen {
inline namespace v1 {

/// What a signature of op moe says beside types and quantisation; all at their defaults for any other op. The
/// activation is the epilogue's one step; a gate_up that is not gated may have none.
struct MoeTraits {
  MoePart part = MoePart::layer;
  bool gated = false;         // W1 has gate and up rows
  bool weight_first = false;  // the routing weight multiplies A's row, before the activation, not what down adds to C
};

/// How many experts there are and how many each token goes to.
struct Routing {
  std::uint16_t experts = 0;
  std::uint16_t top_k = 0;

  /// Both in one number, where keys of lookup tables have a batch.
  constexpr std::uint32_t lookup_key() const noexcept { return static_cast<std::uint32_t>(experts) << 16 | top_k; }
};

/// Rows of A in the order of their experts, each expert's rows padded to whole blocks of block_m.
/// An entry of token_ids is slot << 24 | token; padding is top_k << 24 | tokens. Tokens are below 2^24, slots below
/// 256.
struct SortedTokens {
  std::int32_t* token_ids;   // capacity entries
  float* weights;            // capacity; 0 for padding
  std::int32_t* expert_ids;  // capacity / block_m: the expert of each block
  std::int32_t* valid;       // [0] entries in use, a multiple of block_m; [1] tokens
};

/// Entries that SortedTokens needs room for, a multiple of block_m; -1 where the sizes are illegal or beyond 2^31 - 1.
CKGEN_API std::int64_t sorted_capacity(std::int64_t tokens, Routing routing, std::int64_t block_m) noexcept;

/// Sorts by expert, then token, then slot. Host memory throughout. false where a size is illegal or an id is not an
/// expert: nothing is written then. An expert without tokens takes no block.
CKGEN_API bool sort_tokens(const std::int32_t* topk_ids, const float* topk_weights, std::int64_t tokens,
                           Routing routing, std::int64_t block_m, const SortedTokens& out) noexcept;

/// The inverse: topk_ids and topk_weights, tokens * top_k each, from what sort_tokens() wrote. false where the sorted
/// form is not one: an entry out of range, an expert twice for one slot, a slot left out.
CKGEN_API bool unsort_tokens(const SortedTokens& sorted, std::int64_t tokens, Routing routing, std::int64_t block_m,
                             std::int32_t* topk_ids, float* topk_weights) noexcept;

/// What a caller passes to run a plan of op moe. Leading dimensions count elements. Host memory on a simulated device.
struct MoeArgs {
  const void* a;  // layer, gate_up: tokens x K; down: tokens * top_k rows of K, row token * top_k + slot
  const void* w1;
  const void* w2;
  void* c;               // gate_up: tokens * top_k rows of N, row token * top_k + slot; else tokens x N of down
  const void* a_scale;   // of the rows of `a`, as GemmArgs has them
  const void* w1_scale;  // of all experts, expert by expert; per_tensor: one per expert
  const void* w2_scale;
  std::int64_t tokens;
  std::int64_t lda;
  std::int64_t ldc;
  // The routing: topk_ids and topk_weights, tokens x top_k, for a layer; SortedTokens of the plan's block_m for a part,
  // and for a layer where the caller has sorted already (topk_ids is null then).
  const std::int32_t* topk_ids;
  const float* topk_weights;
  SortedTokens sorted;
  bool a_scale_row_major;  // as in GemmArgs
  bool mx_scale_shuffled;
};
constexpr Op op_of(const MoeArgs&) noexcept {
  return Op::moe;
}

/// Stages of plans beside kernels. sort: the tokens of a layer by expert, skipped where the caller has sorted them.
/// quantize: what gate_up wrote, as down reads it. add_slots: down's rows of slots to C.
enum class MoeStage : std::uint8_t { sort, quantize, add_slots };

}  // namespace v1
}  // namespace ckgen
