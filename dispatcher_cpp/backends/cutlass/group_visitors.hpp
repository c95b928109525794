// What CUTLASS's visitors lack of groups: a scalar of each group, and a tensor of each, at addresses of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cutlass/cutlass.h>
#include <cute/tensor.hpp>
#include <cutlass/epilogue/fusion/sm90_callbacks_tma_warpspecialized.hpp>

namespace ckgen::cutlass_gemm {

namespace visit = cutlass::epilogue::fusion;

/// A visitor without shared memory, workspace and loads ahead, whose parameters are its arguments.
template <class Arguments_>
struct OfGroups {
  struct SharedStorage {};
  using Arguments = Arguments_;
  using Params = Arguments_;

  template <class Problem>
  static constexpr Params to_underlying_arguments(const Problem&, const Arguments& given, void*) {
    return given;
  }
  template <class Problem>
  static bool can_implement(const Problem&, const Arguments&) {
    return true;
  }
  template <class Problem>
  static std::size_t get_workspace_size(const Problem&, const Arguments&) {
    return 0;
  }
  template <class Problem>
  static cutlass::Status initialize_workspace(const Problem&, const Arguments&, void*, cudaStream_t,
                                              cutlass::CudaHostAdapter* = nullptr) {
    return cutlass::Status::kSuccess;
  }

  CUTLASS_HOST_DEVICE OfGroups() {}
  CUTLASS_HOST_DEVICE OfGroups(const Params& given, const SharedStorage&) : params(&given) {}

  CUTLASS_DEVICE bool is_producer_load_needed() const { return false; }
  CUTLASS_DEVICE bool is_C_load_needed() const { return false; }
  template <class... Args>
  CUTLASS_DEVICE auto get_producer_load_callbacks(const visit::ProducerLoadArgs<Args...>&) {
    return visit::EmptyProducerLoadCallbacks{};
  }

  const Params* params;
};

struct ScalarsOfGroups {
  const float* const* of;
};

/// The scalar of the tile's group.
struct GroupScalar : OfGroups<ScalarsOfGroups> {
  using OfGroups::OfGroups;

  struct Callbacks : visit::EmptyConsumerStoreCallbacks {
    float scalar;

    CUTLASS_DEVICE explicit Callbacks(float of) : scalar(of) {}
    template <class Sum, int count>
    CUTLASS_DEVICE cutlass::Array<float, count> visit(const cutlass::Array<Sum, count>&, int, int, int) {
      cutlass::Array<float, count> all;
      all.fill(scalar);
      return all;
    }
  };
  template <bool is_of_source, class... Args>
  CUTLASS_DEVICE auto get_consumer_store_callbacks(const visit::ConsumerStoreArgs<Args...>& args) {
    return Callbacks(*params->of[cute::get<3>(args.tile_coord_mnkl)]);
  }
};

template <class Element>
struct TensorsOfGroups {
  const Element* const* of;
  const std::int64_t* line;  // elements from line to line
};

/// The tensor of the tile's group, read by threads as one of a single product is. `Distance`: as C has it, between
/// elements of a line 1.
template <class Element, class Distance>
struct GroupTensor : OfGroups<TensorsOfGroups<Element>> {
  using Base = OfGroups<TensorsOfGroups<Element>>;
  using Base::Base;
  using Single =
      visit::Sm90AuxLoad<0, void, Element, Distance, void, void, 128 / cutlass::sizeof_bits<Element>::value, false>;

  template <bool is_of_source, class... Args>
  CUTLASS_DEVICE auto get_consumer_store_callbacks(const visit::ConsumerStoreArgs<Args...>& args) {
    const auto [m, n, k, group] = args.tile_coord_mnkl;
    typename Single::Params one{};
    one.ptr_aux = this->params->of[group];
    constexpr bool is_first = std::is_same_v<std::decay_t<decltype(cute::get<0>(one.dAux))>, std::int64_t>;
    cute::get<is_first ? 0 : 1>(one.dAux) = this->params->line[group];
    // Alone, the group's matrix is the first one.
    visit::ConsumerStoreArgs alone(args.problem_shape_mnkl, args.tile_shape_mnk, cute::make_coord(m, n, k, 0),
                                   args.tiled_mma, args.epi_tile, args.tiled_copy, args.cD, args.residue_cD, args.tCcD,
                                   args.residue_tCcD, args.tCrC, args.thread_idx);
    return Single(one, {}).template get_consumer_store_callbacks<is_of_source>(alone);
  }
};

}  // namespace ckgen::cutlass_gemm
