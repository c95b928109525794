// How a problem of attention's backward is cut into tasks, and what goes where in the workspace.
#pragma once

#include "backends/host/fmha/geometry.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// Key blocks are n0 columns, row tiles m0 rows of one query head. Offsets are bytes.
struct FmhaBackwardGeometry {
  Signature signature;
  FmhaShape shape;
  const IsaTable* isa;
  const FmhaKernels* kernels;
  PackKind kind;
  int threads;
  std::int64_t m0, n0, panel;
  std::int64_t group;                 // query heads per KV head
  std::int64_t pairs;                 // (sequence, KV head)
  std::int64_t blocks;                // of keys, at most
  std::int64_t row_tiles;             // of a head, at most
  std::int64_t rows;                  // of Q of all sequences
  std::int64_t q_words, v_words;      // of a row of Q and K, of dO and V; whole panels of those of rows of A
  std::int64_t q_ld, v_ld;            // words from row to row of A
  std::int64_t q_panels, v_panels;    // of dimensions
  std::int64_t k_panels;              // of keys
  std::int64_t row_words, key_words;  // of m0 rows, of n0 keys
  std::int64_t ld;                    // of scores
  bool keeps_dq;                      // fp32 sums of dQ have memory of their own
  std::size_t delta, dq, tickets, slots, slot_bytes, bytes;
  // Within a slot: K and V by columns, K by rows; rows of Q and dO as A, and as B
  // where words are pairs.
  std::size_t k_columns, v_columns, k_rows, q_a, q_b, do_a, do_b;
  std::size_t scores, dp, p_rows, ds_rows, ds_columns, dq_tile, dk, dv, bias, factor, drawn, lse, row_delta, spans, row;
};

/// Precondition: the instance and the shape are legal (fmha/check_backward.hpp).
FmhaBackwardGeometry make_fmha_backward_geometry(const InstanceDesc& instance, const Problem& problem) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
