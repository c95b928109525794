// What a GEMM is (GemmTraits) and what a caller passes to run one (GemmArgs): C = epilogue(A * B).
//
// A is M x K, B is K x N, C is M x N. The layout's letters say row-major (r) or column-major (c) for A, B, C; C is
// always row-major. Sizes, leading dimensions and batch strides count elements and are 64-bit.
// Plain aggregates: no errors, no thread affinity. Formulas (all in fp32 unless acc says otherwise):
//   none        C = sum_k A B (+ bias[n])
//   per_tensor  C = (acc * a_scale[0]) * b_scale[0] (+ bias[n])
//   rowwise     C = (acc * a_scale[m]) * b_scale[n] (+ bias[n])
//   blockscale  acc = sum over K groups g of (partial_g * a_scale[m][g]) * b_scale[n / scale_block.n][g]; a group is
//               scale_block.k wide, and a side that scale_block.sides leaves out has no scales
//   mx          acc = sum over 32-wide K groups g of (partial_g * 2^(a_scale[m][g]-127)) * 2^(b_scale[n][g]-127)
// What follows the bias, in fp32 and in this order: each op of the epilogue (see EpilogueOp), then one rounding to C.
// Operands: with a_op or b_op, A = A0 op A1 or B = B0 op B1, elementwise in fp32, rounded to the operand's type.
#pragma once

#include "ckgen/dtype.hpp"
#include "ckgen/epilogue.hpp"

#include <cstdint>

namespace ckgen {
inline namespace v1 {

struct GemmTraits {
  DType a, b, c, acc;  // acc: fp32, or int32 when a and b are int8
  Layout layout;
  Quant quant;
  bool preshuffle_b;  // B is stored as ckgen/preshuffle.hpp lays it out; layout must then be rcr or ccr
  bool bias;
  Epilogue epilogue = {};
  OperandOp a_op = OperandOp::none;
  OperandOp b_op = OperandOp::none;
  ScaleBlock scale_block = {};
};

struct GemmArgs {
  const void* a;
  const void* b;
  void* c;
  // rowwise: fp32[M], fp32[N]; per_tensor: fp32[1] each; blockscale with k and n of the scale block: fp32
  // [M][ceil(K/k)] (see a_scale_row_major) and [ceil(N/n)][ceil(K/k)], null for a side without scales; mx: e8m0 bytes
  // [M][ceil(K/32)] and [N][ceil(K/32)] (see mx_scale_shuffled); none: ignored.
  const void* a_scale;
  const void* b_scale;
  const void* bias;        // fp32[N], shared by the whole batch; null when the traits say no bias
  bool a_scale_row_major;  // blockscale only: false = a_scale is [ceil(K/k)][M]
  std::int64_t m, n, k, batch;
  std::int64_t lda, ldb, ldc;  // ldb is ignored when B is preshuffled
  // 0 broadcasts A or B (and that operand's scales); C must have a stride when batch > 1. The scales of batch i follow
  // those of batch i-1 without a gap, except per_tensor ones, which all batches share.
  std::int64_t batch_stride_a, batch_stride_b, batch_stride_c;
  // mx only: true = a_scale and b_scale are stored as ckgen/preshuffle.hpp lays them out (shuffle_mx_scale), each batch
  // on its own, padding included. Twins read both; ck's GPU code reads this layout only.
  bool mx_scale_shuffled;
  // The epilogue's D tensors, in the order of its `add` and `mul`: M x N, row-major, of C's type. A batch stride of 0
  // shares one D between all batches; a leading dimension of 0 shares one row between all rows.
  const void* d[kMaxD] = {};
  std::int64_t ldd[kMaxD] = {};
  std::int64_t batch_stride_d[kMaxD] = {};
  float alpha = 1.0f;  // what the epilogue's `scale` multiplies with
  // The second operands of a_op and b_op: sizes, leading dimension and batch stride are those of A and B.
  const void* a1 = nullptr;
  const void* b1 = nullptr;
  // true: `b` is what pack_b() made (ckgen/prepack.hpp), of these n and k; ldb is ignored, and of batch_stride_b only
  // whether it is 0: one B, packed as one entry, for all of the batch. Only instances of the CPU itself take it.
  bool b_prepacked = false;
  // Of a group alone, see GroupedArgs; a GEMM's scales have no gaps.
  std::int64_t a_scale_stride = 0;
};
constexpr Op op_of(const GemmArgs&) noexcept {
  return Op::gemm;
}

// Levels of x86-64 that host kernels are compiled for; each contains the ones before it.
enum class Isa : std::uint8_t { x86_64_v3, x86_64_v4, x86_64_v4_bf16, x86_64_amx };

// A GPU instance's Config as its twin needs it. Split s covers k in [s*chunk, (s+1)*chunk) with
// chunk = ceil(K / (k_batch*tile_k)) * tile_k; the last may be short, later ones empty.
struct TwinConfig {
  std::int32_t tile_m, tile_n, tile_k;
  // 0 no split; 1 the splits' accumulators are added in split order, then one epilogue; 2 'atomic': each split goes
  // through the epilogue (bias with split 0), is rounded to the C dtype and added in the C dtype in split order.
  std::int32_t k_batch_mode;
  // An unpadded dimension must be a multiple of its tile, but only where both CK and CK Tile demand it: K always
  // (of k_batch * tile_k), M when A is column-major, N when B is row-major. The full rules are the dispatcher's.
  bool pad_m, pad_n, pad_k;
};

// A host instance's Config. mr x nr: register tile (see host_register_tiles); mc x nc: block of C that one thread
// finishes; kc: depth of K that stays in its cache, of fp32, and as many words of narrower types (tiles of AMX: as many
// elements, summed up in one go; a deeper K in slices as deep as B is packed, where kc is more); threads: at most this
// many, 0 = all.
struct HostConfig {
  Isa isa;
  std::int32_t mr, nr, mc, nc, kc, threads;
};

}  // namespace v1
}  // namespace ckgen
