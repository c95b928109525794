// The blocked GEMM behind twins and host instances: geometry (what goes where in the workspace) and execution.
//
// One thread finishes a part of C: it goes through the part's columns in items. It packs an item's columns of B, as
// deep as its second-level cache holds, and uses them for all its rows at once, block by block (block_m x kc of A,
// which the same cache holds too). The first item packs each block of A ahead of its use, and while it multiplies one
// asks for the next; other items find them packed. So packed B never goes to memory, and what one thread packs no other
// reads: gemm/division.hpp shares a product among threads. Every accumulator is a sum over k in ascending order per
// split, so blocking and threads do not change results.
#pragma once

#include "backends/host/gemm/gemm.hpp"
#include "backends/host/isa/table.hpp"

#include <cstddef>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

// Below this much arithmetic, waking threads costs more than they bring.
constexpr double kSerialFlops = 1e6;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
  return (a + b - 1) / b;
}

struct Sizes {
  std::int64_t m, n, k, batch;
};

// How a caller (twin or host instance) wants the work cut.
struct Blocking {
  const IsaTable* isa;
  PackKind kind;
  std::int32_t mr, nr;                // mr: the largest tile to use; a smaller one of the same nr serves small M
  std::int64_t block_m, block_n, kc;  // elements
  std::int64_t split;                 // elements of K per split, at least 1
  std::int32_t split_mode;            // TwinConfig::k_batch_mode
  int threads;
  bool dots;               // bf16 dot products may stand in for fp32 FMA, as host instances have them and twins do not
  bool few_rows = true;    // kernels of gemm/small_m.hpp may compute few rows, in an order of their own
  bool prepacked = false;  // B is what pack_b() made
  bool folds = false;      // scales go into values (gemm/folded.hpp)
  bool whole_b = false;    // more of B is packed at once where a core has room, though fewer rows may take more memory
  InPlaceFn in_place = nullptr;  // how few rows are computed where B lies (gemm/in_place.hpp); null: B is packed
};

struct Geometry {
  const IsaTable* isa;
  const MicroKernel* micro;
  const MicroKernel* tail;  // of the last panel of rows
  InPlaceFn in_place;       // instead of packing B and `micro`; null: none
  PackKind kind;
  Sizes size;
  std::int64_t split, splits, kc, group;  // group: K elements whose sum is scaled, 0 = none
  std::int32_t split_mode;
  std::int64_t split_words, words;  // packed words of a split and of all splits, per row
  std::int64_t a_words;             // of them that are kept of A: where there is one item along N, those of a depth
  std::int64_t a_panels;            // of A that are kept: there those of a block, else of a superblock
  std::int64_t depth, depth_words;  // of B that an item packs at once, a multiple of kc or the whole split
  std::int64_t pm;                  // panels of A per block
  std::int64_t item_n;              // panels per item, at most
  std::int64_t across;              // items along N
  std::int64_t m_panels, n_panels;  // of the problem
  std::int64_t m_super;             // panels of A that are kept packed
  std::int64_t groups;              // scale groups of K
  bool folds;                       // their scales go into values
  bool one_pass;                    // one depth is all of K: a block is stored before the next one is begun
  bool reads_prepacked;             // B is not packed: prepacked panels are what the kernel reads
  // Byte offsets in the workspace; slot offsets are relative to the slot.
  std::size_t a_scale_offset, slot_offset;
  std::size_t slot_total_offset, slot_row_offset, slot_b_offset, slot_b_scale_offset;
  std::size_t bytes;
  std::int64_t acc_ld;
};

// While it lives, its thread may call a kernel, if that is one with a grain.
class TileSession {
 public:
  TileSession(const IsaTable& isa, const MicroKernel& micro) noexcept : isa_(micro.grain > 1 ? &isa : nullptr) {
    if (isa_ != nullptr) isa_->begin_tiles();
  }
  ~TileSession() {
    if (isa_ != nullptr) isa_->end_tiles();
  }
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;

 private:
  const IsaTable* const isa_;
};

// The kernel of a menu for m rows in as few panels as the largest tile, mr x nr, allows: the smallest that still does.
const MicroKernel* pick_micro(const IsaTable::Menu& menu, std::int32_t mr, std::int32_t nr, std::int64_t m) noexcept;

// Whether its products are of tile instructions.
bool has_tiles(const Blocking& blocking) noexcept;

// Of a part of these sizes; the batch is no matter. Precondition: positive sizes (m, n may not be 0), all at most 2^40;
// blocking validated.
Geometry make_geometry(const GemmTraits& traits, const Blocking& blocking, const Sizes& sizes) noexcept;

// Rows m0 ff. and columns n0 ff. of a product that one thread computes: as many as the geometry's sizes say.
struct Part {
  std::int64_t m0, n0;
  void* c;                   // where element (m0, n0) of the result goes; the next row is args.ldc on
  const std::int32_t* rows;  // row p of the product is made of row rows[p] of a row-major A and its scales; null: row p
};

// Precondition: args has the sizes of the whole product (of rows: those of A). batch: which of its batch.
void execute_part(const Geometry& geometry, const GemmTraits& traits, const GemmArgs& args, const Part& part,
                  void* workspace, std::int64_t batch = 0) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
