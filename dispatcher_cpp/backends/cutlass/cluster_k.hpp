// Config -> a kernel for few rows whose K a cluster of workgroups shares, on CUTLASS's loads and matrix instructions.
// For device units by nvcc, and for host units behind gemm_host.hpp, whose arguments it takes.
#pragma once

#include "cluster_store.hpp"
#include "gemm.hpp"

namespace ckgen::cutlass_gemm {

/// Bytes of shared memory of a workgroup where an SM holds so many of them; CUDA keeps 1024 of each.
constexpr int shared_of(int workgroups) {
  return 233472 / workgroups - 1024;
}

/// What the kernel reads beside A and B: nothing.
struct NoScales {
  struct Arguments {};
  struct Params {};
  static constexpr int kCopied = 0;
  template <class Given>
  static Params of(const Given&) {
    return {};
  }
};

/// Scales of blocks: one of each step of K and of B's side of the tile, which is within 128; and lines of A's side, of
/// `lines` scales, that the copy engine takes. B's are the kernel's rows where it swaps.
template <bool is_swapped, int lines>
struct BlocksOf {
  using Config = typename BlockScales<is_swapped>::Config;
  struct Arguments {
    const float* ptr_SFA;
    const float* ptr_SFB;
    decltype(Config::deduce_layoutSFA()) layout_SFA;
    decltype(Config::deduce_layoutSFB()) layout_SFB;
  };
  using Params = Arguments;
  static constexpr int kCopied = lines;
  static Params of(const Arguments& given) { return given; }

  /// Of the tile that begins at that row and column, from that K on.
  CUTLASS_DEVICE static const float* of_lines(const Params& scales, int row, int column, int k, int batch) {
    if constexpr (is_swapped) {
      return scales.ptr_SFB + scales.layout_SFB(column, k, batch);
    } else {
      return scales.ptr_SFA + scales.layout_SFA(row, k, batch);
    }
  }
  CUTLASS_DEVICE static float of_block(const Params& scales, int row, int column, int k, int batch) {
    if constexpr (is_swapped) {
      return scales.ptr_SFA[scales.layout_SFA(row, k, batch)];
    } else {
      return scales.ptr_SFB[scales.layout_SFB(column, k, batch)];
    }
  }
};

/// The kernel, in the form that CUTLASS gives its own. Each of `parts` workgroups of a cluster sums a part of K of one
/// tile: one thread loads, one warpgroup multiplies, or each of two 64 rows. Sums in fp32 are then read from the shared
/// memory of all parts, in their order, so that no workspace is needed and a result has the same bytes whatever runs
/// beside it. An SM holds `per_sm` workgroups. `Stored` is what is done to sums on their way to C.
template <class Mainloop, class Scaled, class Stored, class Out, class StrideD, int parts, bool is_swapped, int per_sm>
struct ClusterKKernel {
  using Tile = typename Mainloop::TileShape;
  using TiledMma = typename Mainloop::TiledMma;
  using FullBarrier = cutlass::arch::ClusterTransactionBarrier;
  using EmptyBarrier = cutlass::arch::ClusterBarrier;
  using Shape = cute::Shape<int, int, int, int>;
  static constexpr int kStages = Mainloop::DispatchPolicy::Stages;
  static constexpr int kWarp = 32, kConsumers = cute::size(TiledMma{}), kConsumerWarps = kConsumers / kWarp;
  static constexpr int kWriters = parts > 1 ? kConsumers + kWarp : kConsumers;  // threads of a part that write C
  static constexpr int kGridLimit = 65535;                                      // workgroups along y and z
  static constexpr int kCopied = Scaled::kCopied;                               // scales of a step
  static_assert(kConsumers * cute::size<0>(typename TiledMma::AtomShape_MNK{}) == 128 * cute::size<0>(Tile{}));

  // Of C: elements of a tile side by side in memory, lines of them, and how far apart lines of sums are, which keeps
  // threads that write together in banks of their own.
  static constexpr int kAlong = is_swapped ? cute::size<0>(Tile{}) : cute::size<1>(Tile{});
  static constexpr int kLines = is_swapped ? cute::size<1>(Tile{}) : cute::size<0>(Tile{});
  static constexpr int kQuad = 4, kLine = kAlong + kQuad;

  struct SharedStorage {
    union {
      typename Mainloop::TensorStorage operands;
      alignas(16) float sums[kLines * kLine];
    };
    alignas(16) float scales[kStages][kCopied > 0 ? kCopied : 1];
    FullBarrier full[kStages];
    EmptyBarrier empty[kStages];
  };
  static constexpr int SharedStorageSize = sizeof(SharedStorage);
  static_assert(SharedStorageSize <= shared_of(per_sm));
  static constexpr std::uint32_t MaxThreadsPerBlock = kConsumers + kWarp;
  static constexpr std::uint32_t MinBlocksPerMultiprocessor = per_sm;

  struct Arguments {
    cutlass::gemm::GemmUniversalMode mode;
    Shape problem_shape;
    struct Operands : Mainloop::Arguments, Scaled::Arguments {
    } mainloop;
    struct {
      typename Stored::Arguments thread;
      Out* ptr_D;
      StrideD dD;
    } epilogue;
    struct {
      int max_swizzle_size;  // not looked at: there are few tiles
    } scheduler;
    cutlass::KernelHardwareInfo hw_info;
  };
  struct Params {
    Shape problem_shape;
    typename Mainloop::Params mainloop;
    typename Scaled::Params scales;
    typename Stored::Arguments stored;
    Out* c;
    StrideD stride_c;
  };

  static bool can_implement(const Arguments& args) {
    const dim3 grid = tiles_of(args.problem_shape);
    return grid.y <= kGridLimit && grid.z <= kGridLimit && Mainloop::can_implement(args.problem_shape, args.mainloop);
  }
  static std::size_t get_workspace_size(const Arguments&) { return 0; }
  static Params to_underlying_arguments(const Arguments& args, void* workspace) {
    return {args.problem_shape,        Mainloop::to_underlying_arguments(args.problem_shape, args.mainloop, workspace),
            Scaled::of(args.mainloop), args.epilogue.thread,
            args.epilogue.ptr_D,       args.epilogue.dD};
  }
  static dim3 get_grid_shape(const Params& params) { return tiles_of(params.problem_shape); }
  static dim3 get_block_shape() { return dim3(MaxThreadsPerBlock, 1, 1); }

  CUTLASS_DEVICE void operator()(const Params& params, char* memory) {
    SharedStorage& shared = *reinterpret_cast<SharedStorage*>(memory);
    const int part = static_cast<int>(blockIdx.z) % parts, batch = static_cast<int>(blockIdx.z) / parts;
    const int steps = ceil_div(cute::get<2>(params.problem_shape), cute::size<2>(Tile{}));
    const int begin = share(steps, part), end = share(steps, part + 1);
    const int warp = cutlass::canonical_warp_idx_sync();
    if (threadIdx.x == 0) {
      Mainloop::prefetch_tma_descriptors(params.mainloop);
      for (int stage = 0; stage < kStages; ++stage) {
        shared.full[stage].init(1);
        shared.empty[stage].init(kConsumerWarps);
      }
    }
    cutlass::arch::fence_barrier_init();
    __syncthreads();
    if (warp == kConsumerWarps) {
      if (cute::elect_one_sync()) load(params, shared, batch, begin, end);
      __syncwarp();
      if constexpr (parts == 1) return;
    } else {
      multiply(params, shared, batch, begin, end);
    }
    meet();
    add_parts(params, shared, part, batch);
    if constexpr (parts > 1) meet();  // no workgroup ends while others read its memory
  }

 private:
  static constexpr CUTLASS_HOST_DEVICE int ceil_div(int size, int grain) { return (size + grain - 1) / grain; }
  static constexpr CUTLASS_HOST_DEVICE int share(int steps, int part) {
    return static_cast<int>(static_cast<std::int64_t>(steps) * part / parts);
  }
  static dim3 tiles_of(const Shape& shape) {
    return dim3(ceil_div(cute::get<0>(shape), cute::size<0>(Tile{})),
                ceil_div(cute::get<1>(shape), cute::size<1>(Tile{})), parts * cute::get<3>(shape));
  }

  /// All that write C, of all parts; what they wrote before is seen behind it.
  CUTLASS_DEVICE static void meet() {
    if constexpr (parts > 1) {
      cute::cluster_sync();
    } else {
      cutlass::arch::NamedBarrier::sync(kConsumers, cutlass::arch::ReservedNamedBarriers::EpilogueBarrier);
    }
  }

  /// Stages go round; a barrier's phase turns with each round.
  struct Turn {
    int stage = 0;
    std::uint32_t phase = 0;
    CUTLASS_DEVICE void next() {
      if (++stage < kStages) return;
      stage = 0;
      phase ^= 1U;
    }
  };

  /// By one thread: operands of steps [begin, end) of K.
  CUTLASS_DEVICE static void load(const Params& params, SharedStorage& shared, int batch, int begin, int end) {
    using cute::_;
    const auto inputs = Mainloop{}.load_init(params.problem_shape, params.mainloop);
    const auto of_a = params.mainloop.tma_load_a.get_slice(0);
    const auto of_b = params.mainloop.tma_load_b.get_slice(0);
    const auto a = of_a.partition_S(cute::get<0>(inputs)(_, _, static_cast<int>(blockIdx.x), _, batch));
    const auto b = of_b.partition_S(cute::get<1>(inputs)(_, _, static_cast<int>(blockIdx.y), _, batch));
    auto to_a = of_a.partition_D(staged_a(shared));
    auto to_b = of_b.partition_D(staged_b(shared));
    const int row = static_cast<int>(blockIdx.x) * cute::size<0>(Tile{});
    const int column = static_cast<int>(blockIdx.y) * cute::size<1>(Tile{});
    const int lines =
        is_swapped ? cute::get<1>(params.problem_shape) - column : cute::get<0>(params.problem_shape) - row;
    const auto of_scales = static_cast<int>(sizeof(float)) * min(kCopied, lines);
    Turn turn;
    for (int step = begin; step < end; ++step, turn.next()) {
      shared.empty[turn.stage].wait(turn.phase ^ 1U);
      FullBarrier& full = shared.full[turn.stage];
      full.arrive_and_expect_tx(Mainloop::TmaTransactionBytes + of_scales);
      auto& arrival = reinterpret_cast<FullBarrier::ValueType&>(full);
      cute::copy(params.mainloop.tma_load_a.with(arrival), a(_, _, _, step), to_a(_, _, _, turn.stage));
      cute::copy(params.mainloop.tma_load_b.with(arrival), b(_, _, _, step), to_b(_, _, _, turn.stage));
      if constexpr (kCopied > 0) {
        const float* from = Scaled::of_lines(params.scales, row, column, step * cute::size<2>(Tile{}), batch);
        cute::SM90_BULK_COPY_G2S::copy(from, &arrival, shared.scales[turn.stage], of_scales);
      }
    }
  }

  /// By those who multiply: their sums, written over the operands.
  CUTLASS_DEVICE static void multiply(const Params& params, SharedStorage& shared, int batch, int begin, int end) {
    TiledMma mma;
    constexpr int kGroup = 128;
    const int group = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / kGroup, 0);
    const auto all = mma.get_slice(group * kGroup);  // operands are the warpgroup's
    const auto a = all.make_fragment_A(all.partition_A(staged_a(shared)));
    const auto b = all.make_fragment_B(all.partition_B(staged_b(shared)));
    const auto places =
        mma.get_slice(static_cast<int>(threadIdx.x)).partition_C(cute::make_identity_tensor(cute::take<0, 2>(Tile{})));
    auto sums = cute::partition_fragment_C(mma, cute::take<0, 2>(Tile{}));
    cute::clear(sums);
    if constexpr (kCopied > 0) {
      add_scaled(params, shared, batch, begin, end, mma, a, b, places, sums);
    } else {
      add(shared, begin, end, mma, a, b, sums);
    }
    // Nobody reads operands any more.
    cutlass::arch::NamedBarrier::sync(kConsumers, cutlass::arch::ReservedNamedBarriers::EpilogueBarrier);
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < cute::size(sums); ++i) {
      const int row = cute::get<0>(places(i)), column = cute::get<1>(places(i));
      shared.sums[(is_swapped ? column : row) * kLine + (is_swapped ? row : column)] = sums(i);
    }
  }

  /// Sums stay in the matrix unit; a step's operands are free when the next one's are multiplied.
  template <class A, class B, class Sums>
  CUTLASS_DEVICE static void add(SharedStorage& shared, int begin, int end, TiledMma& mma, const A& a, const B& b,
                                 Sums& sums) {
    using cute::_;
    mma.accumulate_ = cute::GMMA::ScaleOut::One;
    Turn turn, before;
    for (int step = begin; step < end; ++step, turn.next()) {
      shared.full[turn.stage].wait(turn.phase);
      cute::warpgroup_fence_operand(sums);
      cute::warpgroup_arrive();
      cute::gemm(mma, a(_, _, _, turn.stage), b(_, _, _, turn.stage), sums);
      cute::warpgroup_commit_batch();
      cute::warpgroup_wait<1>();
      cute::warpgroup_fence_operand(sums);
      if (step == begin) continue;
      if (threadIdx.x % kWarp == 0) shared.empty[before.stage].arrive();
      before.next();
    }
    cute::warpgroup_wait<0>();
    cute::warpgroup_fence_operand(sums);
  }

  /// Sums leave the matrix unit behind each step, times its scales. A stage is given back behind the next step's
  /// products: its scales have been used then. An arrival does not wait for reads that were asked for just before:
  /// where another workgroup's keep them waiting, the copy engine writes over what they are to read.
  template <class A, class B, class Places, class Sums>
  CUTLASS_DEVICE static void add_scaled(const Params& params, SharedStorage& shared, int batch, int begin, int end,
                                        TiledMma& mma, const A& a, const B& b, const Places& places, Sums& sums) {
    using cute::_;
    const int row = static_cast<int>(blockIdx.x) * cute::size<0>(Tile{});
    const int column = static_cast<int>(blockIdx.y) * cute::size<1>(Tile{});
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    // A lane holds the block's scale of one step, and of one a warp's width ahead.
    const auto of_block = [&](int step) {
      return step < end ? Scaled::of_block(params.scales, row, column, step * cute::size<2>(Tile{}), batch) : 0.0F;
    };
    float held = of_block(begin + lane), ahead = of_block(begin + kWarp + lane);
    auto partial = cute::make_fragment_like(sums), factors = cute::make_fragment_like(sums);
    Turn turn, before;
    for (int step = begin; step < end; ++step, turn.next()) {
      const int at = (step - begin) % kWarp;
      if (at == 0 && step != begin) {
        held = ahead;
        ahead = of_block(step + kWarp + lane);
      }
      const float of_all = __shfl_sync(0xffffffffU, held, at);
      shared.full[turn.stage].wait(turn.phase);
      cute::warpgroup_fence_operand(partial);
      cute::warpgroup_arrive();
      mma.accumulate_ = cute::GMMA::ScaleOut::Zero;
      CUTLASS_PRAGMA_UNROLL
      for (int k = 0; k < cute::size<2>(a); ++k) {
        cute::gemm(mma, a(_, _, k, turn.stage), b(_, _, k, turn.stage), partial);
        mma.accumulate_ = cute::GMMA::ScaleOut::One;
      }
      cute::warpgroup_commit_batch();
      if (step != begin) {
        if (lane == 0) shared.empty[before.stage].arrive();
        before.next();
      }
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < cute::size(sums); ++i) {
        const int line = is_swapped ? cute::get<1>(places(i)) : cute::get<0>(places(i));
        factors(i) = of_all * shared.scales[turn.stage][line];
      }
      cute::warpgroup_wait<0>();
      cute::warpgroup_fence_operand(partial);
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < cute::size(sums); ++i) sums(i) += partial(i) * factors(i);
      __syncwarp();
    }
  }

  /// By all that write C: each part adds up four elements in so many of the tile's and writes them to C.
  CUTLASS_DEVICE static void add_parts(const Params& params, SharedStorage& shared, int part, int batch) {
    constexpr int kQuads = kLines * kAlong / kQuad;
    const int of_rows = cute::get<0>(params.problem_shape), of_columns = cute::get<1>(params.problem_shape);
    for (int quad = part * kWriters + static_cast<int>(threadIdx.x); quad < kQuads; quad += parts * kWriters) {
      const int line = quad / (kAlong / kQuad), along = quad % (kAlong / kQuad) * kQuad;
      const int row = static_cast<int>(blockIdx.x) * cute::size<0>(Tile{}) + (is_swapped ? along : line);
      const int column = static_cast<int>(blockIdx.y) * cute::size<1>(Tile{}) + (is_swapped ? line : along);
      if (row >= of_rows || column >= of_columns) continue;
      const float* at = shared.sums + line * kLine + along;
      QuadOfSums whole = sums_of(at, 0);
      CUTLASS_PRAGMA_UNROLL
      for (int other = 1; other < parts; ++other) {
        const auto more = sums_of(at, other);
        CUTLASS_PRAGMA_UNROLL
        for (int i = 0; i < kQuad; ++i) whole[i] += more[i];
      }
      if constexpr (Stored::has_steps)
        whole = Stored::apply(whole, params.stored, is_swapped ? column : row, is_swapped ? row : column, batch);
      Out* to = params.c + row * static_cast<std::int64_t>(cute::get<0>(params.stride_c)) +
                column * static_cast<std::int64_t>(cute::get<1>(params.stride_c)) +
                batch * cute::get<2>(params.stride_c);
      Quad<Out> rounded;
      static_cast<cutlass::Array<Out, kQuad>&>(rounded) = cutlass::NumericArrayConverter<Out, float, kQuad>{}(whole);
      *reinterpret_cast<Quad<Out>*>(to) = rounded;
    }
  }

  /// Four sums of a part, which are where ours are. A workgroup that is alone reads its own memory as such: its barrier
  /// is one of a workgroup, behind which compute-sanitizer takes reads by way of a cluster for a race.
  CUTLASS_DEVICE static QuadOfSums sums_of(const float* at, int part) {
    if constexpr (parts == 1) return *reinterpret_cast<const Quad<float>*>(at);
    QuadOfSums found;
    const std::uint32_t there = cute::set_block_rank(cute::cast_smem_ptr_to_uint(at), static_cast<std::uint32_t>(part));
    asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(found[0]), "=f"(found[1]), "=f"(found[2]), "=f"(found[3])
                 : "r"(there)
                 : "memory");
    return found;
  }

  CUTLASS_DEVICE static auto staged_a(SharedStorage& shared) {
    return cute::make_tensor(cute::make_smem_ptr(shared.operands.smem_A.data()), typename Mainloop::SmemLayoutA{});
  }
  CUTLASS_DEVICE static auto staged_b(SharedStorage& shared) {
    return cute::make_tensor(cute::make_smem_ptr(shared.operands.smem_B.data()), typename Mainloop::SmemLayoutB{});
  }
};

/// C[M][N] = A[M][K] . B[N][K]^T of 16-bit floats, lines of A and B along K or, as `layout` says, across it; or, with
/// scales of blocks, of 8-bit floats; or of a batch; by clusters of `parts` workgroups.
template <class Element, class ElementC, Scales of_scales, int tile_m, int tile_n, int tile_k, int parts,
          bool is_swapped, class Following = Then<false>, Layout layout = Layout::rcr>
struct ClusterKGemm {
  using In = Element;
  using Out = ElementC;
  using Tile = cute::Shape<cute::Int<tile_m>, cute::Int<tile_n>, cute::Int<tile_k>>;
  static constexpr bool swapped = is_swapped;
  static constexpr bool stream_k = false;
  static constexpr Scales scales = of_scales;
  static constexpr unsigned clusters[3] = {1, 1, parts};
  static constexpr int alignment = 128 / cutlass::sizeof_bits<In>::value;  // elements of one TMA access
  static constexpr int alignment_c = 128 / cutlass::sizeof_bits<Out>::value;
  static constexpr bool has_blocks = of_scales == Scales::blocks;
  static constexpr bool copies_scales = has_blocks;
  static_assert((tile_m == 64 || tile_m == 128) && (of_scales == Scales::none || has_blocks));
  static_assert(!has_blocks || (tile_k == 128 && Following::is_nothing && layout == Layout::rcr));
  static constexpr int kLines = is_swapped ? tile_n : tile_m;  // of A's side
  static_assert(!has_blocks || 128 % (is_swapped ? tile_m : tile_n) == 0);

  using Stored = QuadStore<Out, Following>;
  using Scaled = std::conditional_t<has_blocks, BlocksOf<is_swapped, kLines>, NoScales>;
  using Lines = Layouts<Scales::none, is_swapped, layout>;
  static constexpr Schedule kSchedule = tile_m == 128 ? Schedule::cooperative : Schedule::pingpong;
  using LayoutC = std::conditional_t<is_swapped, cutlass::layout::ColumnMajor, cutlass::layout::RowMajor>;
  static constexpr int kStageBytes = (tile_m + tile_n) * tile_k * static_cast<int>(sizeof(In)) +
                                     (has_blocks ? kLines * static_cast<int>(sizeof(float)) : 0);
  static constexpr int kBarrierBytes = 1024;
  static constexpr int kPerSm = tile_m * tile_n > 64 * 128 ? 1 : 2;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, In, typename Lines::A, alignment, In, typename Lines::B,
      alignment, float, Tile, cute::Shape<cute::_1, cute::_1, cute::_1>,
      cutlass::gemm::collective::StageCount<(shared_of(kPerSm) - kBarrierBytes) / kStageBytes>,
      typename MainSchedule<kSchedule, is_float8<In>, Scales::none>::Type>::CollectiveOp;
  using Kernel =
      ClusterKKernel<Mainloop, Scaled, Stored, Out, cutlass::gemm::TagToStrideC_t<LayoutC>, parts, is_swapped, kPerSm>;
};

}  // namespace ckgen::cutlass_gemm
