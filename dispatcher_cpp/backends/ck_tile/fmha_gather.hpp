// Attention over K and V in pages of any size, by a list or a table (ck_tile's FmhaBatchPrefillWithPagedKVCacheKernel),
// for one Config.
//
// That kernel knows pages of one row, reads entries of the list behind a sequence's last one, and takes the list's
// first for the first that a window leaves visible. So each workgroup writes the entries of its keys, one per row, with
// its last key's for those behind it, to the workspace and has them read there; the workgroups of a sequence write the
// same. Formulas: include/ckgen/fmha.hpp. C++20, for a HIP compile of either half.
#pragma once

#include "fmha_tile.hpp"

#include <ck_tile/ops/fmha/block/block_dropout.hpp>
#include <ck_tile/ops/fmha/kernel/fmha_batch_prefill_kernel.hpp>
#include <ck_tile/ops/fmha/pipeline/block_fmha_batch_prefill_pipeline_qr_ks_vs_async.hpp>

namespace ckgen::tile {

/// Which pages a sequence has.
struct FmhaPageTable {
  const std::int32_t* pages;
  const std::int32_t* indptr;     // of a list: the sequence's pages begin there; of a table null
  const std::int32_t* last_page;  // of a list: rows of the last page
  const std::int32_t* lengths;    // of a table
  std::int64_t stride;            // of a table
  index_t page_size;
  index_t page_rows;  // rows from page to page
  index_t seqlen_k;   // the most keys of a sequence
};

template <FmhaTileConfig kConfig>
struct FmhaGather : FmhaTypes<kConfig> {
  using Of = FmhaTypes<kConfig>;
  static constexpr FmhaTraits kTraits = kConfig.traits;
  static constexpr bool kList = kTraits.kv == FmhaKv::page_list;
  static_assert(kConfig.pipeline == FmhaPipeline::qr_async_gather && kTraits.kv != FmhaKv::contiguous);
  static_assert(kConfig.pad_k && !Of::kQuantised, "sequences end anywhere, in 16 bits");
  using Q = typename Of::Q;

  using Traits = ck_tile::TileFmhaTraits<kConfig.pad_q, kConfig.pad_k, kConfig.pad_hdim_q, kConfig.pad_hdim_v,
                                         kTraits.softcap, Of::kBias, /*bias gradient*/ false, kTraits.lse,
                                         kTraits.dropout == FmhaDropout::philox, Of::kQuantised, kConfig.block_per_cu>;
  using Problem =
      ck_tile::BlockFmhaPipelineProblem<Q, Q, Q, float, float, typename Of::Bias, std::uint8_t, float, Q, float,
                                        typename Of::O, typename Of::Shape, kTraits.varlen, typename Of::Variant,
                                        typename Of::Mask, /*transposed loads*/ false, Traits>;
  using Kernel =
      ck_tile::FmhaBatchPrefillWithPagedKVCacheKernel<ck_tile::BlockFmhaBatchPrefillPipelineQRKSVSAsync<Problem>,
                                                      typename Of::Epilogue>;
  struct Args {
    typename Kernel::Kargs kargs;
    FmhaPageTable table;
  };
#if defined(__HIP_DEVICE_COMPILE__)
  static_assert(Kernel::GetSmemSize() <= ck_tile::get_smem_capacity(), "the tiles do not fit the arch's LDS");
#endif

  CK_TILE_DEVICE static void run(const Args& args) {
    auto kargs = args.kargs;
    const auto [tile, part, head, sequence] = Kernel::GetTileIndex(kargs);
    const index_t first = tile * kConfig.m0;
    index_t rows = kargs.seqlen_q;
    if constexpr (kTraits.varlen) rows = kargs.seqstart_q_ptr[sequence + 1] - kargs.seqstart_q_ptr[sequence];
    if (rows <= first) return;
    const FmhaPageTable& table = args.table;
    const index_t length = ck_tile::min(length_of(table, sequence), table.seqlen_k);
    const auto [begin, end] =
        mask_of(kargs, rows, length)
            .GetTileRangeAlongX(first, ck_tile::number<kConfig.m0>{}, ck_tile::number<kConfig.n0>{});
    extern __shared__ std::int32_t noted[];
    if (begin < end) {
      const index_t steps = ck_tile::integer_divide_ceil(end - begin, kConfig.n0);
      note(table, sequence, length, begin, steps * kConfig.n0 + kConfig.k1, noted);
      __syncthreads();
    }
    const index_t bounds[2] = {0, length};
    kargs.kv_indptr = bounds - sequence;
    kargs.kv_page_indices = noted;
    Kernel{}(kargs);
  }

 private:
  CK_TILE_DEVICE static index_t length_of(const FmhaPageTable& table, index_t sequence) {
    if constexpr (!kList) return table.lengths[sequence];
    const index_t pages = table.indptr[sequence + 1] - table.indptr[sequence];
    return pages == 0 ? 0 : (pages - 1) * table.page_size + table.last_page[sequence];
  }

  template <class Kargs>
  CK_TILE_DEVICE static auto mask_of(const Kargs& kargs, index_t rows, index_t length) {
    using Mask = typename Of::Mask;
    if constexpr (kTraits.masked)
      return ck_tile::make_generic_attention_mask_from_lr_window<Mask>(
          kargs.window_size_left, kargs.window_size_right, rows, length,
          kargs.mask_type == ck_tile::GenericAttentionMaskEnum::MASK_FROM_TOP_LEFT);
    else
      return Mask{rows, length};
  }

  /// The rows in the caches of `count` keys from `begin`; behind the last one, its own.
  CK_TILE_DEVICE static void note(const FmhaPageTable& table, index_t sequence, index_t length, index_t begin,
                                  index_t count, std::int32_t* to) {
    const std::int32_t* const pages = table.pages + (kList ? table.indptr[sequence] : sequence * table.stride);
    for (index_t i = static_cast<index_t>(threadIdx.x); i < count; i += Kernel::kBlockSize) {
      const index_t key = ck_tile::min(begin + i, length - 1);
      to[i] = pages[key / table.page_size] * table.page_rows + key % table.page_size;
    }
  }
};

}  // namespace ckgen::tile
