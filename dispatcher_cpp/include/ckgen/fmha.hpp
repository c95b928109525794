// Attention: which options a signature means, which sizes a problem has, and what is passed to run.
//
// For sequence b, query head h, KV head g = h / (heads_q / heads_k), query row i of length_q rows, key column j of
// length_k columns, all in fp32:
//   S[i][j] = scale * sum_d Q[i][h][d] K[j][g][d], times the descales of Q and K where quantised; with softcap
//             softcap * tanh(S / softcap); then + bias[i][j], or - slope[h] * |i + length_k - length_q - j| (alibi)
//   visible(i, j): j < length_k, and where masked i + shift - left <= j <= i + shift + right, or j < sink_tokens and
//             j <= i + shift + right; shift = 0 (top_left) or length_k - length_q (bottom_right); a left or right
//             below 0 is no limit
//   P[i][j] = exp(S[i][j] - lse[i]) where visible, else 0; lse[i] = log(sum_j exp(S[i][j]) (+ exp(sink[h])))
//   O[i][h] = sum_j keep(i, j) / (1 - p_drop) * P[i][j] V[j][g], times the descale of V; keep is 1 without dropout
// A row without a visible column, and without sink, gives O = 0 and lse = -infinity.
//
// append puts new rows into a cache, with p = p(b) rows of sequence b there before:
//   cache[b][p + i] = stored(new[b][i]), of K where rope says so rotated to position p + i
//   O[i] = Q[i] rotated to position p + i, where Q is given
//   rotated to position s, of the first R = rotary_dim dimensions: each pair (x0, x1) becomes
//             (x0 cos[s][t] - x1 sin[s][t], x1 cos[s][t] + x0 sin[s][t]) in fp32; pair t is dimensions 2 t and 2 t + 1
//             where interleaved, t and t + R / 2 where half
//   stored(x) = x in K's and V's type; of 8 bits x / descale, rounded to nearest even, limited to the largest value
//
// backward gives the gradients of a scalar by Q, K, V, bias and sink. It is a function of the gradient by O (dO) and of
// q, k, v, o and lse; sums are fp32:
//   delta[i] = sum_d dO[i][h][d] O[i][h][d]; P as above, of the lse that is given; c(i, j) = keep(i, j) / (1 - p_drop)
//   dS[i][j] = P[i][j] (c(i, j) sum_d dO[i][h][d] V[j][g][d] - delta[i]), which is the gradient by the bias
//   dX = dS, with softcap times 1 - tanh(S / softcap)^2 of S before it; of 16 bits dX and c P may be rounded to them
//   dQ[i][h] = scale sum_j dX[i][j] K[j][g]; over the query heads h of KV head g and all i:
//   dK[j][g] = scale sum dX[i][j] Q[i][h]; dV[j][g] = sum c(i, j) P[i][j] dO[i][h]
//   dbias = the sum of dS over what shares an element of the bias
//   dsink[h] = -sum_b sum_i exp(sink[h] - lse[i]) delta[i]
#pragma once

#include <cstdint>

#include <ckgen/fmha_words.hpp>

namespace ckgen {
inline namespace v1 {

/// What a signature of op fmha says beside its types (a: Q; b: K and V; c: O); all at their defaults for any other op.
struct FmhaTraits {
  FmhaEntry entry = FmhaEntry::forward;
  bool varlen = false;    // lengths differ: rows of all sequences lie one after the other, cut by seqstart
  bool v_column = false;  // V is [hdim_v][length_k] per head, not [length_k][hdim_v]
  bool masked = false;    // corner and window are the problem's
  FmhaBias bias = FmhaBias::none;
  bool softcap = false;
  bool sink = false;  // one logit more per query head, that has no value
  bool lse = false;   // lse is written
  FmhaDropout dropout = FmhaDropout::none;
  FmhaQuant quant = FmhaQuant::none;
  FmhaKv kv = FmhaKv::contiguous;
  FmhaKvLayout kv_layout = FmhaKvLayout::linear;
  FmhaRope rope = FmhaRope::none;  // of append
};

/// The sizes of a problem of op fmha. Lengths are the largest of a sequence where they differ.
struct FmhaShape {
  std::int64_t batch = 1;
  std::int32_t heads_q = 1;
  std::int32_t heads_k = 1;  // divides heads_q
  std::int64_t seqlen_q = 0;
  std::int64_t seqlen_k = 0;
  std::int32_t hdim_q = 0;  // of Q and K
  std::int32_t hdim_v = 0;  // of V and O
  // Of a masked signature; see the formulas. The defaults are causal.
  FmhaCorner corner = FmhaCorner::bottom_right;
  std::int32_t window_left = -1;
  std::int32_t window_right = 0;
  std::int32_t sink_tokens = 0;
  std::int32_t page_size = 0;  // rows of a page, of paged KV
  std::int64_t pages = 0;      // in the whole cache
  std::int64_t total_q = 0;    // rows of Q of all sequences, of varlen; 0: batch * seqlen_q, of append seqlen_new
  // A schedule of unequal splits of KV (ckgen/fmha_split.hpp), its arrays being FmhaArgs::split: entries of both,
  // padding included, partial rows of a head, and what its FmhaSplitProblem said. No items: splits are equal.
  std::int64_t split_items = 0;
  std::int64_t split_combines = 0;
  std::int64_t split_rows = 0;
  std::int32_t split_m0 = 0;
  std::int32_t split_n0 = 0;
  bool split_merged = false;  // merge_heads
  // Of append. seqlen_k is then the rows that the cache has room for in each sequence, and seqlen_q those of Q that
  // rotate, without rope and without Q 0. New rows and rows of Q are at positions below seqlen_k. In a varlen problem
  // they are those of the same tokens: seqlen_q is 0 or seqlen_new.
  std::int64_t seqlen_new = 0;
  std::int32_t rotary_dim = 0;    // of rope: even, at most hdim_q
  std::int32_t min_seqlen_k = 0;  // keys that each sequence of varlen or of paged KV has at least
  bool finite_kv = false;         // pages hold finite values too where no sequence has a key
  bool gaps_q = false;            // of varlen: FmhaArgs::seqlen_q is given
};

/// Distances in elements.
struct FmhaStrides {
  std::int64_t row = 0;    // from token to token; of v_column from one dimension to the next
  std::int64_t head = 0;   // from head to head
  std::int64_t batch = 0;  // from sequence to sequence; of paged KV from page to page; ignored for varlen
};

struct FmhaSplitItem;
struct FmhaCombineItem;

/// A schedule where kernels read it: memory of the device, of the host on a simulated device.
struct FmhaSchedule {
  const FmhaSplitItem* items = nullptr;            // FmhaShape::split_items
  const FmhaCombineItem* combine_items = nullptr;  // FmhaShape::split_combines
};

/// What a caller passes to run a plan of op fmha. Host memory on a simulated device, where lengths are checked. Null
/// where the signature has no such thing. In a varlen problem, sequence b has rows seqstart[b] .. seqstart[b + 1] - 1,
/// of which the first seqlen[b] count where seqlen is given; in a batch, seqlen_k[b] of the seqlen_k columns count
/// where it is given.
struct FmhaArgs {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* o = nullptr;
  float* lse = nullptr;                    // [batch][heads_q][seqlen_q], of varlen [heads_q][total_q]; by lse_strides
  const void* bias = nullptr;              // elementwise: of Q's type; alibi: float slopes, strides of head and batch,
                                           // times distances to the diagonal that ends at the last key, with any mask
  const float* sink = nullptr;             // [heads_q]
  const std::uint8_t* rand_val = nullptr;  // given for randval
  const float* q_descale = nullptr;        // per_tensor: [1]; blockscale: [batch][heads][ceil(rows / 128)]; of 8-bit Q
  const float* k_descale = nullptr;
  const float* v_descale = nullptr;
  FmhaStrides q_strides, k_strides, v_strides, o_strides;
  FmhaStrides bias_strides, rand_val_strides;
  std::int64_t lse_head_stride = 0, lse_batch_stride = 0;
  const std::int32_t* seqstart_q = nullptr;  // batch + 1
  const std::int32_t* seqstart_k = nullptr;
  const std::int32_t* seqlen_q = nullptr;  // batch
  const std::int32_t* seqlen_k = nullptr;
  // Paged KV. block_table: page numbers [batch][block_table_stride], lengths by seqlen_k. page_list: page numbers of
  // sequence b are kv_pages[kv_indptr[b]] .. kv_pages[kv_indptr[b + 1] - 1].
  const std::int32_t* block_table = nullptr;
  std::int64_t block_table_stride = 0;
  const std::int32_t* kv_indptr = nullptr;
  const std::int32_t* kv_pages = nullptr;
  const std::int32_t* kv_last_page = nullptr;  // batch: rows in use of the last page
  float scale = 0.0F;                          // of the scores; usually 1 / sqrt(hdim_q)
  float softcap = 0.0F;                        // above 0
  float p_drop = 0.0F;                         // at least 0, below 1
  std::uint64_t seed = 0, offset = 0;          // of philox
  FmhaSchedule split;                          // of a plan with one
  // Of append: k_cache and v_cache in place of k and v, with k_strides and v_strides. New rows have Q's type, hdim_q
  // and hdim_v columns and heads_k heads; of varlen, seqstart_q and seqlen_q cut them and Q, seqstart_k a contiguous
  // cache. seqlen_k counts the rows before; page_list has pages and last-page lengths as they are with the new rows. O
  // has Q's rows and columns, and may be Q itself with its strides. Nothing else may overlap.
  void* k_cache = nullptr;
  void* v_cache = nullptr;
  const void* k_new = nullptr;
  const void* v_new = nullptr;
  FmhaStrides k_new_strides, v_new_strides;
  const void* rotary_cos = nullptr;  // of rope: [seqlen_k][rotary_dim / 2], of Q's type
  const void* rotary_sin = nullptr;
  // Of backward, where o and lse are read: they are forward's, lse with the strides above. All are of Q's type but
  // dsink; shapes are those of what they are gradients of. Rows that do not count are not written. dbias, of a bias of
  // elements, is summed along the bias's strides of 0, where its own are not read; null: not wanted. So is dsink,
  // [heads_q]. Nothing may overlap.
  const void* dout = nullptr;
  void* dq = nullptr;
  void* dk = nullptr;
  void* dv = nullptr;
  void* dbias = nullptr;
  float* dsink = nullptr;
  FmhaStrides dout_strides, dq_strides, dk_strides, dv_strides, dbias_strides;
};
constexpr Op op_of(const FmhaArgs&) noexcept {
  return Op::fmha;
}

/// Stages of plans beside kernels. combine: partial results of splits of KV to O and lse. Of backward: dot_do_o makes
/// delta; sum_heads adds up dK and dV of the query heads of each KV head; convert_dq rounds fp32 sums to dQ; dq, dbias
/// and dsink compute what they are called.
enum class FmhaStage : std::uint8_t { combine, dot_do_o, sum_heads, convert_dq, dq, dbias, dsink };

/// HOW an instance of op fmha computes, and which sizes it takes.
struct FmhaConfig {
  std::int32_t m0 = 0;                  // rows of Q per workgroup; 0: the instance is of another op
  std::int32_t n0 = 0;                  // columns of K per step; of append new rows per workgroup
  std::int32_t k0 = 0;                  // of head dim per step of the first product
  std::int32_t n1 = 0;                  // columns of V per workgroup
  std::int32_t k1 = 0;                  // of keys per step of the second product
  std::int32_t hdim_q = 0, hdim_v = 0;  // largest that it takes
  bool pad_q = false;                   // rows of Q need not be whole tiles
  bool pad_k = false;                   // nor columns of K
  std::int32_t d_multiple = 0;          // hdim_q must be one; 0: it must be hdim_q itself
  std::int32_t dv_multiple = 0;
  std::int32_t max_splits = 1;       // of KV, among workgroups
  std::int32_t page_multiple = 1;    // of paged KV: pages must be whole multiples
  bool takes_items = false;          // a schedule of unequal splits, of tiles of m0 and cuts at multiples of n0
  bool merge_heads = false;          // rows of a tile are those of all query heads of a KV head
  bool always_combines = false;      // it writes partial results even where all keys are one split
  std::int32_t rotary_multiple = 2;  // of append with rope: rotary_dim must be one
  // Rows of a KV head, up to which a workgroup takes all heads, if there is one for each compute unit; 0: none.
  std::int32_t rows_together = 0;
  // 0: any.
  std::int32_t max_page = 0;     // rows of a page
  std::int32_t max_rows = 0;     // of Q of a sequence
  std::int32_t max_group = 0;    // query heads per KV head
  bool causal_only = false;      // a mask must be causal and end at the last key
  bool topleft_only = false;     // a mask must be causal and start at the first key
  bool needs_keys = false;       // each sequence has a key
  bool needs_finite = false;     // finite_kv
  std::int64_t cache_limit = 0;  // of paged KV: the most elements of a cache, whose pages are given; 0: any
  std::int32_t max_keys = 0;     // of a sequence; 0: any
  bool sink_tokens = true;       // of masks: it takes some
  bool takes_gaps_q = true;      // of varlen: FmhaArgs::seqlen_q
  bool topleft_slopes = true;    // of alibi under a mask: those of a mask from the top left
  bool unordered_dq = false;     // of backward: tiles of n0 keys add to dQ in no fixed order
  bool last_resort = false;      // it answers where no other instance does, whatever they cost
};

}  // namespace v1
}  // namespace ckgen
