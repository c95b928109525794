// Many GEMMs of fp8 with scales for blocks of both operands in one launch: a Kind for OverGroups of
// ck_tile/grouped.hpp, whose tiles our own block-scale kernel computes.
//
// Scales of A lie as [M][K / 128]. C++20, compiled as HIP for any arch; code for gfx942 and gfx950.
#pragma once

#include "../ck_tile/grouped.hpp"
#include "blockscale.hpp"

namespace ckgen::hip {

template <BlockScaleConfig kConfig>
struct GroupedBlockScale {
  using Single = BlockScale<kConfig>;
  static constexpr ck_tile::index_t kTileM = kConfig.m, kTileN = kConfig.n, kTileK = kConfig.k;
  static constexpr int kBlockSize = Single::kThreads, kWavesPerSimd = Single::kWavesPerSimd;
  static constexpr ck_tile::index_t kLdsBytes = 1, kSecondLdsBytes = 1;  // its LDS is its own
  static constexpr bool kPreshuffledB = kConfig.preshuffled_b;

  /// Neighbouring work items share columns of B.
  struct Partitioner {
    ck_tile::index_t m, n;
    CK_TILE_DEVICE auto GetOutputTileIndex(ck_tile::index_t tile) const {
      const ck_tile::index_t tiles_m = (m + kTileM - 1) / kTileM;
      return ck_tile::make_tuple(tile % tiles_m, tile / tiles_m);
    }
  };

  template <bool kAdd>
  CK_TILE_DEVICE static void compute(const tile::GroupItem& item, ck_tile::index_t row, ck_tile::index_t column,
                                     const tile::GroupedKernelArgs&, char*, char*) {
    static_assert(!kAdd, "scaled sums are set");
    const device::GroupEntry& group = item.group;
    const std::int64_t scales = group.k / kScaleGroup;
    const BlockScaleArgs args{group.a,
                              group.b,
                              group.c,
                              static_cast<const float*>(group.a_scale),
                              static_cast<const float*>(group.b_scale),
                              group.m,
                              group.n,
                              group.k,
                              group.lda,
                              kPreshuffledB ? group.k : group.ldb,
                              group.ldc,
                              scales,
                              1};
    Single::compute(args, row, column);
  }
};

}  // namespace ckgen::hip
