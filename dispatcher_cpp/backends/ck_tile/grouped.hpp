// Many GEMMs in one launch over ck_tile's pipelines and epilogues, for one Config: the device half.
//
// A workgroup takes work items of a table (device/group_table.hpp) in device memory: one in the plain form, every
// `workgroups`-th in the persistent form. What an item computes is a Kind's: GroupedDense here, scaled and preshuffled
// ones in grouped_scaled.hpp. ck_tile's own GroupedGemmKernel is not used: it skips groups without K, whose C is the
// epilogue of zero, and its plain form is compiled for one main loop, whatever K groups have. C++20, for a HIP compile
// of either half.
#pragma once

#include "multi_abd.hpp"

#include <cstdint>

#include "../device/group_table.hpp"

namespace ckgen::tile {

using device::GroupEntry;

/// Memory that no kernel under way writes: uniform reads of it are scalar ones.
template <class T>
using Constant = const T __attribute__((address_space(4)))*;

/// What a kernel over groups takes; `first` and `entries` are the table's parts.
struct GroupedKernelArgs {
  Constant<std::int32_t> first;
  Constant<GroupEntry> entries;
  std::int32_t count;
  std::int32_t workgroups;
  std::int32_t k_batch;
  float alpha;
};

/// A work item: a tile of one group's C, and the K tiles [begin, end) that are multiplied for it.
struct GroupItem {
  GroupEntry group;
  index_t tile;
  index_t split;
  index_t begin;
  index_t end;
};

/// The group that a work item below first[count] is of; groups without items are passed over.
CK_TILE_DEVICE index_t group_of(const GroupedKernelArgs& args, index_t item) {
  index_t group = 0;
  for (index_t end = args.count; end - group > 1;) {
    const index_t middle = (group + end) / 2;
    if (args.first[middle] <= item)
      group = middle;
    else
      end = middle;
  }
  return group;
}

template <index_t kTileM, index_t kTileN, index_t kTileK>
CK_TILE_DEVICE GroupItem item_of(const GroupedKernelArgs& args, index_t item) {
  const index_t number = group_of(args, item);
  const Constant<GroupEntry> from = args.entries + number;
  const GroupEntry group{
      from->a, from->b, from->c,   from->a_scale, from->b_scale, {from->d[0], from->d[1]},    from->m,
      from->n, from->k, from->lda, from->ldb,     from->ldc,     {from->ldd[0], from->ldd[1]}};
  const index_t tiles = ((group.m + kTileM - 1) / kTileM) * ((group.n + kTileN - 1) / kTileN);
  const index_t within = item - args.first[number];
  const index_t split = args.k_batch == 1 ? 0 : within / tiles;
  const index_t k_tiles = (group.k + kTileK - 1) / kTileK;
  const index_t share = args.k_batch == 1 ? k_tiles : (k_tiles + args.k_batch - 1) / args.k_batch;
  const index_t begin = split * share;
  return {group, within - split * tiles, split, begin, ck_tile::min(begin + share, k_tiles)};
}

/// Zeros in a tile of C, wherever C is.
template <class Out, index_t kTileM, index_t kTileN, index_t kLanes>
CK_TILE_DEVICE void zero_tile(const GroupEntry& group, index_t row, index_t column) {
  for (index_t i = threadIdx.x; i < kTileM * kTileN; i += kLanes) {
    const index_t m = row + i / kTileN, n = column + i % kTileN;
    if (m < group.m && n < group.n) static_cast<Out*>(group.c)[static_cast<std::int64_t>(m) * group.ldc + n] = Out{};
  }
}

/// The kernels over groups of one Kind, which has
///   Partitioner, kTileM, kTileN, kTileK, kBlockSize, kLdsBytes, kSecondLdsBytes
///   compute<kAdd>(item, row, column, args, lds, lds2): one item, K tiles and all
template <class Kind, bool kPersistent>
struct OverGroups {
  template <bool kAdd>
  CK_TILE_DEVICE static void run(const GroupedKernelArgs& args) {
    __shared__ char first[Kind::kLdsBytes];
    __shared__ char second[Kind::kSecondLdsBytes];
    const index_t items = args.first[args.count];
    for (index_t at = blockIdx.x; at < items; at += args.workgroups) {
      const GroupItem item = item_of<Kind::kTileM, Kind::kTileN, Kind::kTileK>(args, at);
      const auto place = typename Kind::Partitioner{item.group.m, item.group.n}.GetOutputTileIndex(item.tile);
      const index_t row = ck_tile::amd_wave_read_first_lane(place.template at<0>() * Kind::kTileM);
      const index_t column = ck_tile::amd_wave_read_first_lane(place.template at<1>() * Kind::kTileN);
      // where splits are added, C is zero already
      if (!kAdd || item.begin < item.end) Kind::template compute<kAdd>(item, row, column, args, first, second);
      if constexpr (!kPersistent) return;
      ck_tile::block_sync_lds();  // others may still read what the next item overwrites
    }
  }
};

/// Unscaled GEMMs, with the epilogue and the D tensors that a Config may have.
template <class C>
struct GroupedDense {
  struct Once : C {
    static constexpr bool persistent = false;  // the loop over tiles is ours
  };
  using Fused = MultiAbd<Once>;
  using Plain = typename Fused::Plain;
  using Out = typename Plain::Out;
  using Partitioner = typename Plain::Partitioner;
  static_assert(Fused::kA == 1 && Fused::kB == 1, "groups have one tensor for A and one for B");
  static_assert(!C::bias, "the table of groups holds none");
  static_assert(C::warps_k == 1, "every wave has its part of the tile");
  static constexpr index_t kD = Fused::kD;
  static constexpr index_t kTileM = C::tile_m, kTileN = C::tile_n, kTileK = C::tile_k;

  template <bool kAdd>
  using Kernel = typename Fused::template Kernel<true, Tail::Full, kAdd>;
  static constexpr int kBlockSize = Kernel<false>::kBlockSize;
  static constexpr index_t kLdsBytes = Kernel<false>::GetSmemSize();
  static constexpr index_t kSecondLdsBytes = Plain::two_buffers ? kLdsBytes : 1;

  template <bool kAdd>
  CK_TILE_DEVICE static void compute(const GroupItem& item, index_t row, index_t column, const GroupedKernelArgs& args,
                                     char* lds, char* lds2) {
    const auto windows = windows_of<kAdd>(item, row, column);
    const auto sums = accumulate<0>(windows, item.end - item.begin, lds, lds2);
    typename Fused::template Epilogue<kAdd> epilogue{};
    if constexpr (Fused::fused) epilogue.alpha = args.alpha;
    auto c = windows.at(ck_tile::number<3>{});
    epilogue(c, sums, windows.at(ck_tile::number<2>{}), lds);
  }

 private:
  template <bool kAdd>
  CK_TILE_DEVICE static auto windows_of(const GroupItem& item, index_t row, index_t column) {
    using Own = Kernel<kAdd>;
    const GroupEntry& group = item.group;
    std::array<const void*, kD> ds;
    std::array<index_t, kD> ldds;
    if constexpr (kD > 0) {
      for (index_t i = 0; i < kD; ++i) ds[i] = group.d[i], ldds[i] = group.ldd[i];
    }
    const std::int64_t k = static_cast<std::int64_t>(item.begin) * kTileK;
    const index_t depth = ck_tile::min(item.end * kTileK, group.k) - static_cast<index_t>(k);
    const auto* a = static_cast<const typename Plain::A*>(group.a) + (a_is_row_major(C::layout) ? k : k * group.lda);
    const auto* b = static_cast<const typename Plain::B*>(group.b) + (b_is_row_major(C::layout) ? k * group.ldb : k);
    const ck_tile::UniversalGemmKernelArgs<1, 1, kD> gemm{
        {a}, {b}, {ds}, group.c, group.m, group.n, group.k, {group.lda}, {group.ldb}, ldds, group.ldc, 1};
    const auto views =
        Own::template MakeGemmTensorViews<Plain::memory(kAdd)>({a}, {b}, ds, static_cast<Out*>(group.c), gemm, depth);
    return Own::MakeGemmTileWindows(Own::MakeGemmPadViews(views), row, column);
  }

  /// The forms of the main loop that some number of K tiles takes, each once.
  struct Forms {
    static constexpr index_t kMost = 32;
    LoopCase cases[kMost];
    index_t count;
  };
  static constexpr Forms forms() {
    Forms found{};
    for (index_t tiles = 1; tiles <= Forms::kMost; ++tiles) {
      const LoopCase one = Plain::loop_of(tiles);
      bool known = false;
      for (index_t i = 0; i < found.count; ++i)
        known = known || (found.cases[i].hot == one.hot && found.cases[i].tail == one.tail);
      if (!known) found.cases[found.count++] = one;
    }
    return found;
  }
  static constexpr Forms kForms = forms();

  template <index_t kForm, class Windows>
  CK_TILE_DEVICE static auto accumulate(const Windows& windows, index_t k_tiles, char* lds, char* lds2) {
    constexpr LoopCase one = kForms.cases[kForm];
    using Pipeline = typename Fused::template Pipeline<one.hot, one.tail>;
    const auto form = [&] {
      const auto& a = windows.at(ck_tile::number<0>{});
      const auto& b = windows.at(ck_tile::number<1>{});
      if constexpr (Plain::two_buffers)
        return Pipeline{}.template operator()(a, typename Fused::OfA{}, b, typename Fused::OfB{}, k_tiles, lds, lds2);
      else
        return Pipeline{}.template operator()(a, typename Fused::OfA{}, b, typename Fused::OfB{}, k_tiles, lds);
    };
    if constexpr (kForm == 0) {
      if (k_tiles == 0) {
        decltype(form()) nothing;
        ck_tile::clear_tile(nothing);
        return nothing;
      }
    }
    if constexpr (kForm + 1 < kForms.count) {
      const LoopCase wanted = Plain::loop_of(k_tiles);
      if (wanted.hot != one.hot || wanted.tail != one.tail) return accumulate<kForm + 1>(windows, k_tiles, lds, lds2);
    }
    return form();
  }
};

}  // namespace ckgen::tile

/// Defines the device entry `symbol` that computes all groups of a Kind; `add`: splits of K are added to C.
#define CKGEN_TILE_GROUPED_KERNEL(symbol, Kind, persistent, add, blocks_per_cu)   \
  extern "C" __global__ void __launch_bounds__((Kind::kBlockSize), blocks_per_cu) \
      symbol(ckgen::tile::GroupedKernelArgs args) {                               \
    ckgen::tile::OverGroups<Kind, persistent>::template run<add>(args);           \
  }
