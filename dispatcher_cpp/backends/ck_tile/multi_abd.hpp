// ck_tile's universal GEMM with what the dense kind has not: a batch, operands of two tensors, a bias, D tensors and an
// epilogue.
//
// One kernel kind for multi-D, multi-ABD and batched: ck_tile's own kernels of these names are the universal GEMM with
// other pointers. Two things are ours. The epilogue: ck_tile's rounds to C before it applies D, takes no number at run
// time and does nothing without a D; this one passes fp32 through LDS and rounds once. A bias is its first D, of fp32
// and with one row for all. And the batch: entries lie along x behind each other, at 64-bit offsets, so that a stride
// of 0 shares an operand. C++20, for a HIP compile of either half.
#pragma once

#include "gemm.hpp"

#include <cstdint>

#include <ck_tile/ops/gemm/kernel/gemm_multi_abd_kernel.hpp>

#include "elementwise.hpp"

namespace ckgen::tile {

/// What a kernel of so many A, B and D tensors takes: entry i of the batch is i strides behind `gemm`'s pointers. The
/// strides are those of an epilogue's D; all entries share a bias.
template <index_t kA, index_t kB, index_t kD>
struct MultiAbdArgs {
  ck_tile::UniversalGemmKernelArgs<kA, kB, kD> gemm;
  std::int64_t batch_stride_a, batch_stride_b, batch_stride_c;
  std::int64_t batch_stride_d[kMaxD];
  float alpha;
};

/// The C-shuffle of `Base` (a CShuffleEpilogue) with fp32 in LDS, and the ops of `C` before the one rounding.
template <class Base, class C>
struct FusedShuffle : Base {
  using Acc = typename Base::AccDataType;
  static constexpr index_t kRows = Base::MPerIterationShuffle;
  static constexpr index_t kColumns = Base::NPerIterationShuffle;
  float alpha = 1.0f;

  CK_TILE_HOST_DEVICE static constexpr index_t GetSmemSize() { return kRows * kColumns * sizeof(Acc); }
  /// D is read as C is written, a bias 16 bytes at once at most; Base would want whole 16 bytes of it also where C's
  /// vector is narrower.
  template <index_t I>
  CK_TILE_HOST_DEVICE static constexpr index_t GetVectorSizeD(ck_tile::number<I>) {
    constexpr index_t widest = 16 / sizeof(std::tuple_element_t<I, typename Base::DsDataType>);
    return ck_tile::min(Base::GetVectorSizeC(), widest);
  }

  template <class CWindow, class Accumulators, class DWindows>
  CK_TILE_DEVICE void operator()(CWindow& c, const Accumulators& accumulators, const DWindows& ds, void* lds) {
    constexpr auto held = ck_tile::make_static_tile_distribution(Base::MakeLdsDistributionEncode());
    constexpr auto stored = ck_tile::tile_distribution_encoding_pattern_2d<
        Base::kBlockSize, kRows, kColumns, Base::GetVectorSizeC(), ck_tile::tile_distribution_pattern::thread_raked,
        Base::Problem::kNumWaveGroups>::make_2d_static_tile_distribution();
    constexpr auto lengths = ck_tile::make_tuple(ck_tile::number<kRows>{}, ck_tile::number<kColumns>{});
    const auto view = ck_tile::make_tensor_view<ck_tile::address_space_enum::lds>(
        static_cast<Acc*>(lds), Base::template MakeLdsBlockDescriptor<typename Base::Problem>());
    auto in = ck_tile::make_tile_window(view, lengths, {0, 0}, held);
    auto out = ck_tile::make_tile_window(view, lengths, {0, 0}, stored);
    auto d_windows = ck_tile::generate_tuple([&](auto i) { return ck_tile::make_tile_window(ds[i], stored); },
                                             ck_tile::number<Base::NumDTensor>{});
    auto part = ck_tile::make_static_distributed_tensor<Acc>(held);
    ck_tile::static_for<0, Base::SFC::get_num_of_access(), 1>{}([&](auto access) {
      ck_tile::block_sync_lds();
      this->template slice_acc_tile<access>(accumulators, part);
      ck_tile::store_tile(in, part);
      ck_tile::block_sync_lds();
      const auto d_tiles = ck_tile::generate_tuple([&](auto i) { return ck_tile::load_tile(d_windows[i]); },
                                                   ck_tile::number<Base::NumDTensor>{});
      this->store_to_dram(c, finished(ck_tile::load_tile(out), d_tiles));
      this->template move_windows<access>(c, d_windows);
    });
  }

 private:
  template <class Sums, class DTiles>
  CK_TILE_DEVICE auto finished(const Sums& sums, const DTiles& ds) const {
    auto result = ck_tile::make_static_distributed_tensor<typename Base::ODataType>(Sums::get_tile_distribution());
    ck_tile::static_for<0, Sums::get_thread_buffer_size(), 1>{}([&](auto i) {
      auto x = ck_tile::type_convert<float>(sums.get_thread_buffer()[i]);
      if constexpr (C::bias) x += ds[ck_tile::number<0>{}].get_thread_buffer()[i];
      result.get_thread_buffer()(i) = rounded<typename Base::ODataType>(after<0, C::bias ? 1 : 0>(x, i, ds));
    });
    return result;
  }

  /// x after the ops from kAt on, the first of which with a D takes D number kD.
  template <int kAt, int kD, class Index, class DTiles>
  CK_TILE_DEVICE float after(float x, Index i, const DTiles& ds) const {
    if constexpr (kAt == kMaxEpilogueOps) {
      return x;
    } else {
      constexpr EpilogueOp op = C::epilogue.ops[kAt];
      float d = 0.0f;
      if constexpr (takes_d(op)) d = ck_tile::type_convert<float>(ds[ck_tile::number<kD>{}].get_thread_buffer()[i]);
      return after<kAt + 1, kD + (takes_d(op) ? 1 : 0)>(step<op>(x, alpha, d), i, ds);
    }
  }
};

/// The kernels of one Config; what it has in common with a dense GEMM is Gemm's.
template <class C>
struct MultiAbd {
  using Plain = Gemm<C>;
  using A = typename Plain::A;
  using B = typename Plain::B;
  using Out = typename Plain::Out;
  static_assert(C::loop == Loop::mem || C::loop == Loop::compv3 || C::loop == Loop::compv4,
                "the other pipelines apply no function to what they load");
  static_assert(C::store == Store::cshuffle && !C::persistent && C::num_wave_groups == 1);

  static constexpr bool fused = C::bias || !C::epilogue.empty();
  static constexpr index_t kA = C::a_op == OperandOp::none ? 1 : 2;
  static constexpr index_t kB = C::b_op == OperandOp::none ? 1 : 2;
  static constexpr index_t kBias = C::bias ? 1 : 0;
  static constexpr index_t kD = C::epilogue.d_count();
  static constexpr index_t kDs = kBias + kD;

  template <class T, index_t kCount>
  using Times = std::conditional_t<kCount == 0, ck_tile::tuple<>,
                                   std::conditional_t<kCount == 1, ck_tile::tuple<T>, ck_tile::tuple<T, T>>>;
  using As = Times<A, kA>;
  using Bs = Times<B, kB>;
  template <bool, class First, class Others>
  struct Behind {
    using type = Others;
  };
  template <class First, class... Others>
  struct Behind<true, First, ck_tile::tuple<Others...>> {
    using type = ck_tile::tuple<First, Others...>;
  };
  using Ds = typename Behind<C::bias, float, Times<Out, kD>>::type;
  using DLayouts = typename Behind<C::bias, LayoutC, Times<LayoutC, kD>>::type;

  template <OperandOp kOp>
  struct FunctionOf {
    using type = Combined<kOp>;
  };
  template <>
  struct FunctionOf<OperandOp::none> {
    using type = ck_tile::element_wise::PassThrough;
  };
  using OfA = typename FunctionOf<C::a_op>::type;
  using OfB = typename FunctionOf<C::b_op>::type;

  using Traits =
      ck_tile::TileGemmUniversalTraits<C::pad_m, C::pad_n, C::pad_k, Plain::two_buffers, Times<LayoutA<C::layout>, kA>,
                                       Times<LayoutB<C::layout>, kB>, LayoutC, C::transpose_c, C::structured_sparsity>;
  static constexpr index_t kVector = C::vector != 0 ? C::vector : 1;
  template <bool Hot, Tail T>
  using Pipeline = typename LoopOf<C::loop>::template Pipeline<
      ck_tile::UniversalGemmPipelineProblem<As, Bs, typename Plain::Acc, typename Plain::Shape, Traits,
                                            Plain::scheduler, Hot, T, OfA, OfB, A, C::vector != 0, kVector, kVector>,
      C::vector>;

#if CKGEN_CK_EPILOGUE_ORDER == 2
  template <bool Atomic>
  using Shuffle = ck_tile::CShuffleEpilogue<ck_tile::CShuffleEpilogueProblem<
      As, Bs, Ds, typename Plain::Acc, Out, DLayouts, LayoutC, typename Plain::Pass, C::tile_m, C::tile_n, C::warps_m,
      C::warps_n, C::warp_tile_m, C::warp_tile_n, C::warp_tile_k, C::transpose_c, Plain::memory(Atomic), 1,
      C::vector != 0, kVector>>;
#else
#error "this CK tree's CShuffleEpilogue has no parts that can be taken one by one"
#endif
  template <bool Atomic>
  using Epilogue = std::conditional_t<Atomic, CheckedRows<Shuffle<Atomic>>,
                                      std::conditional_t<fused, FusedShuffle<Shuffle<Atomic>, C>, Shuffle<Atomic>>>;

  /// ck_tile's kernel, whose arguments, acceptance and views these kernels take.
  template <bool Hot, Tail T, bool Atomic>
  using Kernel = ck_tile::UniversalGemmKernel<typename Plain::Partitioner, Pipeline<Hot, T>, Epilogue<Atomic>>;
  using Args = MultiAbdArgs<kA, kB, kDs>;

  template <bool Hot, Tail T, bool Atomic>
  CK_TILE_DEVICE static void run(const Args& args) {
    using Own = Kernel<Hot, T, Atomic>;
    static_assert(!Atomic || !fused, "an epilogue takes whole sums");
    __shared__ char first[Own::GetSmemSize()];
    __shared__ char second[Plain::two_buffers ? Own::GetSmemSize() : 1];
    const auto& gemm = args.gemm;
    const index_t tiles = ck_tile::amd_wave_read_first_lane(Plain::Partitioner::GridSize(gemm.M, gemm.N));
    const index_t batch = ck_tile::amd_wave_read_first_lane(static_cast<index_t>(blockIdx.x) / tiles);
    const index_t tile = ck_tile::amd_wave_read_first_lane(static_cast<index_t>(blockIdx.x) - batch * tiles);
    const auto place = typename Plain::Partitioner{gemm.M, gemm.N}.GetOutputTileIndex(tile);
    const index_t row = ck_tile::amd_wave_read_first_lane(place.template at<0>() * C::tile_m);
    const index_t column = ck_tile::amd_wave_read_first_lane(place.template at<1>() * C::tile_n);
    const typename Own::SplitKBatchOffset split(gemm, blockIdx.z);

    std::array<const A*, kA> as;
    for (index_t i = 0; i < kA; ++i)
      as[i] = static_cast<const A*>(gemm.as_ptr[i]) + batch * args.batch_stride_a + split.as_k_split_offset[i];
    std::array<const B*, kB> bs;
    for (index_t i = 0; i < kB; ++i)
      bs[i] = static_cast<const B*>(gemm.bs_ptr[i]) + batch * args.batch_stride_b + split.bs_k_split_offset[i];
    std::array<const void*, kDs> ds;
    if constexpr (C::bias) ds[0] = gemm.ds_ptr[0];
    if constexpr (kD > 0) {
      for (index_t i = 0; i < kD; ++i)
        ds[kBias + i] = static_cast<const Out*>(gemm.ds_ptr[kBias + i]) + batch * args.batch_stride_d[i];
    }
    auto* c = static_cast<Out*>(gemm.e_ptr) + batch * args.batch_stride_c;

    const auto views = Own::template MakeGemmTensorViews<Plain::memory(Atomic)>(as, bs, ds, c, gemm, split.splitted_k);
    auto windows = Own::MakeGemmTileWindows(Own::MakeGemmPadViews(views), row, column);
    const auto& a_windows = windows.at(ck_tile::number<0>{});
    const auto& b_windows = windows.at(ck_tile::number<1>{});
    const index_t turns = ck_tile::amd_wave_read_first_lane(Plain::Partitioner::GetLoopNum(split.splitted_k));
    const auto sums = [&] {
      if constexpr (Plain::two_buffers)
        return Pipeline<Hot, T>{}.template operator()(a_windows, OfA{}, b_windows, OfB{}, turns, first, second);
      else
        return Pipeline<Hot, T>{}.template operator()(a_windows, OfA{}, b_windows, OfB{}, turns, first);
    }();
    Epilogue<Atomic> epilogue{};
    if constexpr (fused) epilogue.alpha = args.alpha;
    epilogue(windows.at(ck_tile::number<3>{}), sums, windows.at(ck_tile::number<2>{}), first);
  }
};

}  // namespace ckgen::tile

/// Defines the device entry `symbol` of the variant (hot, tail, atomic) of `Config`.
#define CKGEN_TILE_MULTI_ABD_KERNEL(symbol, Config, hot, tail, atomic)                                                 \
  extern "C" __global__ void __launch_bounds__(                                                                        \
      (ckgen::tile::MultiAbd<Config>::Kernel<hot, ckgen::tile::Tail::tail, atomic>::kBlockSize), Config::block_per_cu) \
      symbol(ckgen::tile::MultiAbd<Config>::Args args) {                                                               \
    ckgen::tile::MultiAbd<Config>::run<hot, ckgen::tile::Tail::tail, atomic>(args);                                    \
  }
