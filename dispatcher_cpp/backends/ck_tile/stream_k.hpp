// Stream-K over ck_tile's pipelines and epilogues, for one Config: the device half.
//
// Who computes what is ckgen/stream_k.hpp's arithmetic, from the kernel's arguments. The parts of a split tile meet in
// fp32 (int32): in C by atomic adds, or through slices of the workspace, linear or as a tree. A slice holds its
// workgroup's accumulators as they lie in registers, 16 bytes of each lane side by side, for only a workgroup of the
// same kernel reads it. The kernel takes any number of K tiles: each form of the main loop is in its text once.
//
// Forward progress: a workgroup waits for partial tiles of higher workgroups only. All of the grid are resident, for
// the grid is compute units * workgroups that the launch bounds and the LDS guarantee for each; and blocks, which start
// in ascending order, are numbered in descending order, so that what is waited for has begun.
//
// C++20, for a HIP compile.
#pragma once

#include "gemm.hpp"

#include <cstdint>

#include <ckgen/strategy.hpp>
#include <ckgen/stream_k.hpp>

namespace ckgen::tile {

/// Tells whoever awaits the flag that what the workgroup has stored can be read, on any XCD: their L2s are not
/// coherent.
///
/// Each wave waits until its stores are in the XCD's L2, which no fence of the workgroup's scope promises; then one
/// release at agent scope writes the L2 back for all. It needs a wait of its own: clang leaves out the fence's where it
/// knows of no store under way, for it does not count the write back as one.
CK_TILE_DEVICE void hand_over(std::uint32_t* flag) {
  ck_tile::s_waitcnt_barrier<0>();
  if (threadIdx.x == 0) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    ck_tile::s_waitcnt<0>();
    __hip_atomic_store(flag, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
}

/// Returns when hand_over() was called for the flag; what lay behind it can be read by the whole workgroup.
///
/// The acquire at agent scope drops what the L1, which the workgroup shares, and the XCD's L2 hold of other XCDs'
/// memory.
CK_TILE_DEVICE void await(std::uint32_t* flag) {
  if (threadIdx.x == 0) {
    while (__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1);
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  }
  __syncthreads();
}

/// What a stream-K kernel takes. `slices` and `flags` are the workspace's, null for atomic.
struct StreamKArgs {
  ck_tile::UniversalGemmKernelArgs<1, 1, 0> gemm;
  StreamKPartition partition;
  void* slices;
  std::uint32_t* flags;
};

/// K iterations [begin, end) of a tile.
struct Piece {
  std::int64_t tile;
  std::int64_t begin;
  std::int64_t end;
};

/// A workgroup's pieces: those of its range of stream-K iterations, then its data-parallel tiles.
class Pieces {
 public:
  CK_TILE_DEVICE Pieces(const StreamKPartition& partition, std::int64_t workgroup)
      : partition_(partition), next_whole_(workgroup) {
    if (partition.sk_tiles == 0) return;
    next_ = partition.begin(workgroup);
    end_ = partition.end(workgroup);
    tile_ = partition.tile_of(next_);
  }
  CK_TILE_DEVICE bool more() const { return next_ < end_ || next_whole_ < partition_.dp_tiles; }
  CK_TILE_DEVICE Piece next() {
    if (next_ < end_) {
      const std::int64_t start = partition_.tile_begin(tile_);
      const std::int64_t begin = next_;
      next_ = ck_tile::min(end_, start + partition_.iters_per_tile);
      return {tile_++, begin - start, next_ - start};
    }
    const std::int64_t tile = next_whole_;
    next_whole_ += partition_.grid;
    return {tile, 0, partition_.iters_per_tile};
  }

 private:
  const StreamKPartition& partition_;
  std::int64_t next_ = 0;
  std::int64_t end_ = 0;
  std::int64_t tile_ = 0;
  std::int64_t next_whole_;
};

/// The kernel of one Config whose split tiles meet as `kStrategy` says.
template <class C, Strategy kStrategy>
struct StreamKGemm : Gemm<C> {
  using Base = Gemm<C>;
  using Acc = typename Base::Acc;
  static_assert(kStrategy == Strategy::atomic || kStrategy == Strategy::linear || kStrategy == Strategy::tree);
  static_assert(C::loop == Loop::compv3 || C::loop == Loop::compv4 || C::loop == Loop::mem,
                "compv5 divides its waves into groups, compv6 takes no single K tile");
  static_assert(C::warps_k == 1 && C::num_wave_groups == 1, "every wave has its part of the tile");
  static constexpr bool kAtomic = kStrategy == Strategy::atomic;

  template <bool Adds>
  using Universal =
      ck_tile::UniversalGemmKernel<typename Base::Partitioner, typename Base::template Pipeline<true, Tail::Full>,
                                   typename Base::template Epilogue<Adds>>;
  using Whole = Universal<false>;

  static constexpr int kBlockSize = Whole::kBlockSize;
  /// Waves on each SIMD that block_per_cu workgroups are: what launch bounds take.
  static constexpr int kWavesPerSimd = (C::block_per_cu * (kBlockSize / ck_tile::get_warp_size()) + 3) / 4;
  static constexpr index_t kLdsBytes = Whole::GetSmemSize();

  CK_TILE_DEVICE static void run(const StreamKArgs& args) {
    __shared__ char first[kLdsBytes];
    __shared__ char second[Base::two_buffers ? kLdsBytes : 1];
    const Lds lds{first, second};
    const StreamKPartition& partition = args.partition;
    const std::int64_t workgroup = partition.grid - 1 - static_cast<std::int64_t>(blockIdx.x);
    for (Pieces pieces(partition, workgroup); pieces.more();) {
      compute(args, workgroup, pieces.next(), lds);
      ck_tile::block_sync_lds();  // others may still read what the next piece overwrites
    }
  }

 private:
  struct Lds {
    char* first;
    char* second;  // of pipelines with two buffers
  };
  using Vector = ck_tile::ext_vector_t<Acc, 16 / sizeof(Acc)>;
  static constexpr index_t kTileBytes = C::tile_m * C::tile_n * sizeof(Acc);

  CK_TILE_DEVICE static void compute(const StreamKArgs& args, std::int64_t workgroup, const Piece& piece,
                                     const Lds& lds) {
    const auto windows = windows_of<false>(args, piece);
    auto sum = accumulate(windows, static_cast<index_t>(piece.end - piece.begin), lds);
    if (piece.end - piece.begin == args.partition.iters_per_tile) {
      store<false>(args, piece, sum, lds);
    } else if constexpr (kAtomic) {
      store<true>(args, piece, sum, lds);
    } else if (join(args, workgroup, piece, sum)) {
      store<false>(args, piece, sum, lds);
    }
  }

  /// Views of A and B from the piece's K on, and of C, at the piece's tile.
  template <bool Adds>
  CK_TILE_DEVICE static auto windows_of(const StreamKArgs& args, const Piece& piece) {
    using Kernel = Universal<Adds>;
    const auto& gemm = args.gemm;
    // as many tiles as C has elements at most, which is less than 2^31
    const auto tile = static_cast<std::uint32_t>(piece.tile);
    const auto tiles_n = (static_cast<std::uint32_t>(gemm.N) + (C::tile_n - 1)) / C::tile_n;
    const auto row = static_cast<index_t>(tile / tiles_n);
    const auto column = static_cast<index_t>(tile % tiles_n);
    const std::int64_t k = piece.begin * C::tile_k;
    const std::int64_t k_end = ck_tile::min(piece.end * C::tile_k, static_cast<std::int64_t>(gemm.K));
    const std::int64_t a_offset = a_is_row_major(C::layout) ? k : k * gemm.stride_As[0];
    const std::int64_t b_offset = b_is_row_major(C::layout) ? k * gemm.stride_Bs[0] : k;
    const auto* a = static_cast<const typename Base::A*>(gemm.as_ptr[0]) + a_offset;
    const auto* b = static_cast<const typename Base::B*>(gemm.bs_ptr[0]) + b_offset;
    const auto views = Kernel::template MakeGemmTensorViews<Base::memory(Adds)>(
        {a}, {b}, {}, static_cast<typename Base::Out*>(gemm.e_ptr), gemm, static_cast<index_t>(k_end - k));
    return Kernel::MakeGemmTileWindows(Kernel::MakeGemmPadViews(views), row * C::tile_m, column * C::tile_n);
  }

  /// The main loops, each once.
  struct Loops {
    static constexpr index_t kMost = 32;
    LoopCase cases[kMost];
    index_t count;
  };
  static constexpr Loops loops() {
    Loops found{};
    for (index_t tiles = 1; tiles <= Loops::kMost; ++tiles) {
      const LoopCase one = Base::loop_of(tiles);
      bool known = false;
      for (index_t i = 0; i < found.count; ++i)
        known = known || (found.cases[i].hot == one.hot && found.cases[i].tail == one.tail);
      if (!known) found.cases[found.count++] = one;
    }
    return found;
  }
  static constexpr Loops kLoops = loops();

  template <class Windows>
  CK_TILE_DEVICE static auto accumulate(const Windows& windows, index_t k_tiles, const Lds& lds) {
    return accumulate_as<0>(windows, k_tiles, Base::loop_of(k_tiles), lds);
  }
  template <index_t kCase, class Windows>
  CK_TILE_DEVICE static auto accumulate_as(const Windows& windows, index_t k_tiles, LoopCase wanted, const Lds& lds) {
    constexpr LoopCase one = kLoops.cases[kCase];
    using Pipeline = typename Base::template Pipeline<one.hot, one.tail>;
    using Pass = typename Base::Pass;
    if constexpr (kCase + 1 < kLoops.count) {
      if (wanted.hot != one.hot || wanted.tail != one.tail)
        return accumulate_as<kCase + 1>(windows, k_tiles, wanted, lds);
    }
    const auto& a = windows.at(ck_tile::number<0>{});
    const auto& b = windows.at(ck_tile::number<1>{});
    if constexpr (Base::two_buffers)
      return Pipeline{}.template operator()(a, Pass{}, b, Pass{}, k_tiles, lds.first, lds.second);
    else
      return Pipeline{}.template operator()(a, Pass{}, b, Pass{}, k_tiles, lds.first);
  }

  template <bool Adds, class Tile>
  CK_TILE_DEVICE static void store(const StreamKArgs& args, const Piece& piece, const Tile& sum, const Lds& lds) {
    const auto windows = windows_of<Adds>(args, piece);
    auto c = windows.at(ck_tile::number<3>{});
    typename Base::template Epilogue<Adds>{}(c, sum, windows.at(ck_tile::number<2>{}), lds.first);
  }

  /// Adds other workgroups' parts of the piece's tile to `sum`; whether the sum is the tile's, and not handed over.
  template <class Tile>
  CK_TILE_DEVICE static bool join(const StreamKArgs& args, std::int64_t workgroup, const Piece& piece, Tile& sum) {
    const StreamKPartition& partition = args.partition;
    const std::int64_t part = piece.begin == 0 ? 0 : workgroup - partition.first_workgroup(piece.tile);
    const std::int64_t parts = part + partition.last_workgroup(piece.tile) - workgroup + 1;
    const auto take = [&](std::int64_t away) {
      await(args.flags + workgroup + away);
      add_slice(args, workgroup + away, sum);
    };
    if constexpr (kStrategy == Strategy::tree) {
      for (std::int64_t away = 1; part + away < parts && (part & away) == 0; away *= 2) take(away);
    } else if (part == 0) {
      for (std::int64_t away = 1; away < parts; ++away) take(away);
    }
    if (part == 0) return true;
    store_slice(args, workgroup, sum);
    hand_over(args.flags + workgroup);
    return false;
  }

  CK_TILE_DEVICE static Vector* slice(const StreamKArgs& args, std::int64_t workgroup) {
    return reinterpret_cast<Vector*>(static_cast<char*>(args.slices) + workgroup * kTileBytes) + threadIdx.x;
  }
  template <class Tile>
  static constexpr index_t vectors() {
    constexpr index_t elements = Tile::get_thread_buffer_size();
    static_assert(elements * kBlockSize * sizeof(Acc) == kTileBytes, "a tile's accumulators lie in lanes once");
    static_assert(elements % (16 / sizeof(Acc)) == 0);
    return elements / (16 / sizeof(Acc));
  }
  template <class Tile>
  CK_TILE_DEVICE static void store_slice(const StreamKArgs& args, std::int64_t workgroup, const Tile& sum) {
    Vector* const place = slice(args, workgroup);
    ck_tile::static_for<0, vectors<Tile>(), 1>{}(
        [&](auto i) { place[i * kBlockSize] = sum.get_thread_buffer().template get_as<Vector>(i); });
  }
  /// So many vectors are under way at once as hide the way to memory; all of them would need as many registers again.
  template <class Tile>
  CK_TILE_DEVICE static void add_slice(const StreamKArgs& args, std::int64_t workgroup, Tile& sum) {
    constexpr index_t kUnderWay = 8;
    const Vector* const place = slice(args, workgroup);
    ck_tile::static_for<0, vectors<Tile>(), 1>{}([&](auto i) {
      sum.get_thread_buffer().template get_as<Vector>()(i) += place[i * kBlockSize];
      if constexpr (i % kUnderWay == kUnderWay - 1) __builtin_amdgcn_sched_barrier(0);
    });
  }
};

}  // namespace ckgen::tile

/// Defines the device entry `symbol` of the stream-K kernel of `Config`.
#define CKGEN_TILE_STREAM_K_KERNEL(symbol, Config, strategy)                                                \
  extern "C" __global__ void __launch_bounds__((ckgen::tile::StreamKGemm<Config, strategy>::kBlockSize),    \
                                               (ckgen::tile::StreamKGemm<Config, strategy>::kWavesPerSimd)) \
      symbol(ckgen::tile::StreamKArgs args) {                                                               \
    ckgen::tile::StreamKGemm<Config, strategy>::run(args);                                                  \
  }
