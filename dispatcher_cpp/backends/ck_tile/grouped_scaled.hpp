// What a work item of a grouped launch computes where operands have scales or B is preshuffled: Kinds for OverGroups.
//
// GroupedQuant: a scale per row and column or per tensor (QuantGemmKernel). GroupedBlockQuant: scales for blocks of A
// alone or of B alone, also over int4 weights. GroupedFlatmm: a preshuffled B, with a scale per row and column or none.
// The single GEMM's kernels compute each tile; ck_tile's QuantGroupedGemmKernel takes its arguments in a wrong order,
// and its GroupedFlatmmKernel compiles in one parity of K steps for all groups. C++20, for a HIP compile of either
// half.
#pragma once

#include "flatmm.hpp"
#include "group_quant.hpp"
#include "grouped.hpp"
#include "quant.hpp"

namespace ckgen::tile {

template <class Args>
CK_TILE_DEVICE Args quant_args(const GroupEntry& group, index_t scales_per_row) {
  return {group.a,   group.b,        group.a_scale,  group.b_scale,  group.c,   group.m,
          group.n,   group.k,        scales_per_row, scales_per_row, group.lda, group.ldb,
          group.ldc, scales_per_row, scales_per_row, /*K splits*/ 1};
}

/// What the kinds of QuantGemmKernel have in common.
template <class Single, auto kConfig>
struct GroupedQuantBase {
  using Out = typename Single::C;
  using Partitioner = typename Single::Partitioner;
  static constexpr index_t kTileM = kConfig.tile.m, kTileN = kConfig.tile.n, kTileK = kConfig.tile.k;
  static constexpr int kBlockSize = Single::kBlockSize;
  static constexpr index_t kSecondLdsBytes = 1;

 protected:
  template <class Kernel>
  CK_TILE_DEVICE static void run(const GroupItem& item, index_t scales_per_row, index_t row, index_t column,
                                 char* lds) {
    const GroupEntry& group = item.group;
    const auto args = quant_args<typename Single::Args>(group, scales_per_row);
    Kernel::RunGemm(static_cast<const typename Kernel::ADataType*>(group.a),
                    static_cast<const typename Kernel::BDataType*>(group.b),
                    static_cast<const typename Kernel::AQDataType*>(group.a_scale),
                    static_cast<const typename Kernel::BQDataType*>(group.b_scale),
                    static_cast<typename Kernel::CDataType*>(group.c), lds, args,
                    typename Kernel::SplitKBatchOffset(args, 0), row, column);
  }
};

template <QuantConfig kConfig>
struct GroupedQuant : GroupedQuantBase<QuantGemm<kConfig>, kConfig> {
  using Single = QuantGemm<kConfig>;
  static constexpr index_t kLdsBytes = Single::AnyKernel::GetSmemSize();

  template <bool kAdd>
  CK_TILE_DEVICE static void compute(const GroupItem& item, index_t row, index_t column, const GroupedKernelArgs&,
                                     char* lds, char*) {
    static_assert(!kAdd, "scaled sums are set");
    switch (item.end) {
      case 0:
        return zero_tile<typename Single::C, kConfig.tile.m, kConfig.tile.n, Single::kBlockSize>(item.group, row,
                                                                                                 column);
      case 1:
        return GroupedQuant::template run<typename Single::template Kernel<QuantLoop::one>>(item, 1, row, column, lds);
      case 2:
        return GroupedQuant::template run<typename Single::template Kernel<QuantLoop::two>>(item, 1, row, column, lds);
      default:
        return GroupedQuant::template run<typename Single::template Kernel<QuantLoop::many>>(item, 1, row, column, lds);
    }
  }
};

template <GroupQuantConfig kConfig>
struct GroupedBlockQuant : GroupedQuantBase<GroupQuantGemm<kConfig>, kConfig> {
  using Single = GroupQuantGemm<kConfig>;
  static constexpr index_t kLdsBytes = Single::Kernel::GetSmemSize();

  template <bool kAdd>
  CK_TILE_DEVICE static void compute(const GroupItem& item, index_t row, index_t column, const GroupedKernelArgs&,
                                     char* lds, char*) {
    static_assert(!kAdd, "scaled sums are set");
    if (item.end == 0)
      return zero_tile<typename Single::C, kConfig.tile.m, kConfig.tile.n, Single::kBlockSize>(item.group, row, column);
    GroupedBlockQuant::template run<typename Single::Kernel>(item, item.group.k / kConfig.group_k, row, column, lds);
  }
};

template <FlatmmConfig kConfig>
struct GroupedFlatmm {
  using Single = Flatmm<kConfig>;
  using Out = typename Single::C;
  using Partitioner = typename Single::Partitioner;
  using Scale = typename Single::Scale;
  static constexpr index_t kTileM = kConfig.tile.m, kTileN = kConfig.tile.n, kTileK = kConfig.tile.k;
  static constexpr int kBlockSize = Single::kBlockSize;
  static constexpr index_t kLdsBytes = Single::AnyKernel::GetSmemPingSize();
  static constexpr index_t kSecondLdsBytes = Single::AnyKernel::GetSmemPongSize();

  template <bool kAdd>
  CK_TILE_DEVICE static void compute(const GroupItem& item, index_t row, index_t column, const GroupedKernelArgs& args,
                                     char* lds, char* lds2) {
    const index_t steps = item.end - item.begin;
    if (!kAdd && steps == 0)
      zero_tile<Out, kTileM, kTileN, kBlockSize>(item.group, row, column);
    else if (steps % 2 == 1)
      run<FlatmmVariant{true, kAdd}>(item, row, column, args.k_batch, lds, lds2);
    else
      run<FlatmmVariant{false, kAdd}>(item, row, column, args.k_batch, lds, lds2);
  }

 private:
  /// Splits are equal and of whole K tiles, as the host side demands; then they are those of the item.
  template <FlatmmVariant kVariant>
  CK_TILE_DEVICE static void run(const GroupItem& item, index_t row, index_t column, index_t k_batch, char* lds,
                                 char* lds2) {
    using Kernel = typename Single::template Kernel<kVariant>;
    const GroupEntry& group = item.group;
    const ck_tile::FlatmmKernelArgs<Scale, Scale> args{group.a,
                                                       group.b,
                                                       {},
                                                       group.c,
                                                       group.m,
                                                       group.n,
                                                       group.k,
                                                       group.lda,
                                                       group.k,
                                                       {},
                                                       group.ldc,
                                                       k_batch,
                                                       Scale(static_cast<const float*>(group.a_scale), group.m),
                                                       Scale(static_cast<const float*>(group.b_scale), group.n)};
    const typename Kernel::SplitKBatchOffset split(args, static_cast<std::size_t>(item.split));
    Kernel::template RunFlatmm<Scale, Scale>(
        static_cast<const typename Kernel::ADataType*>(group.a) + split.a_k_split_offset,
        static_cast<const typename Kernel::BDataType*>(group.b) + split.b_k_split_offset, {},
        static_cast<Out*>(group.c), lds, lds2, args, split, row, column);
  }
};

}  // namespace ckgen::tile
