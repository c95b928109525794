// Which problems a kernel of FmhaForward, FmhaPaged or FmhaGather computes: ck_tile's classes ask nothing, so every
// rule of their kernels is here.
//
// C++17, no ck_tile, no HIP. Pure functions.
#pragma once

#include <cstdint>
#include <limits>

#include <ckgen/dtype.hpp>
#include <ckgen/fmha.hpp>
#include <ckgen/status.hpp>

#include "fmha_page_limits.hpp"

namespace ckgen::tile {

inline constexpr std::uint32_t kMostFmhaGrid = 65535;  // along y and z, as HIP's devices say

/// A Config as far as it decides. `vector_q`: Q and K are loaded 16 bytes at a time, `vector_v`: V and O are.
/// `gathers`: keys of a step may be of any pages.
struct FmhaLimits {
  DType q, kv, o;
  FmhaTraits traits;
  std::int32_t m0, n0, k0_max, n1;
  bool pad_q, pad_k, pad_hdim_q, pad_hdim_v;
  bool vector_q, vector_v;
  bool combines = false;  // another kernel writes O and lse
  bool gathers = false;
};

/// A tensor as one workgroup sees it: rows of one sequence and head. `heads` and `batch`: how many it is of.
struct FmhaTensor {
  const char* name;
  const void* at;
  const FmhaStrides& strides;
  std::int64_t rows, columns, heads, batch;
  DType type;
  bool vector;
  bool is_used = true;
};

/// Strides and bytes within a head that 32 bits count, and what vectors need of strides and address.
inline Status check_fmha_tensor(const FmhaTensor& one) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t bytes = bits(one.type) / 8;
  if (one.rows == 0) return Status::success();
  if (one.at == nullptr) return Status::error(StatusCode::invalid_argument, "%s is null", one.name);
  const std::int64_t used[] = {one.rows > 1 ? one.strides.row : 0, one.heads > 1 ? one.strides.head : 0,
                               one.batch > 1 ? one.strides.batch : 0};
  for (const std::int64_t stride : used) {
    if (stride < 0 || stride > kMost)
      return Status::error(StatusCode::unsupported, "a stride of %s of %lld: ck_tile counts in 32 bits", one.name,
                           static_cast<long long>(stride));
    if (one.vector && stride * bytes % 16 != 0)
      return Status::error(StatusCode::unsupported, "a stride of %s of %lld: it is loaded by vectors of 16 bytes",
                           one.name, static_cast<long long>(stride));
  }
  if (one.vector && reinterpret_cast<std::uintptr_t>(one.at) % 16 != 0)
    return Status::error(StatusCode::unsupported, "%s is not aligned to 16 bytes, which its vectors are", one.name);
  if (one.rows * (used[0] == 0 ? one.columns : used[0]) > kMost / bytes)
    return Status::error(StatusCode::unsupported, "%s: %lld rows, %lld elements apart, take 2 GiB or more", one.name,
                         static_cast<long long>(one.rows), static_cast<long long>(used[0]));
  return Status::success();
}

/// Head dims and lengths that the tiles take.
inline Status check_fmha_sizes(const FmhaLimits& limits, const FmhaShape& shape, const FmhaArgs& args) noexcept {
  const auto fits = [](std::int32_t hdim, std::int32_t most, bool padded, bool vector, DType type) {
    return padded ? hdim <= most && (!vector || hdim * bits(type) % 128 == 0) : hdim == most;
  };
  if (!fits(shape.hdim_q, limits.k0_max, limits.pad_hdim_q, limits.vector_q, limits.kv) ||
      !fits(shape.hdim_v, limits.n1, limits.pad_hdim_v, limits.vector_v, limits.kv))
    return Status::error(StatusCode::unsupported, "head dims of %d and %d do not fit tiles of %d and %d", shape.hdim_q,
                         shape.hdim_v, limits.k0_max, limits.n1);
  if (shape.seqlen_q <= 0 || shape.batch <= 0)
    return Status::error(StatusCode::unsupported, "no row of Q: there is nothing to launch");
  if (!limits.pad_q && shape.seqlen_q % limits.m0 != 0)
    return Status::error(StatusCode::unsupported, "%lld rows of Q are no whole tiles of %d",
                         static_cast<long long>(shape.seqlen_q), limits.m0);
  // without padding the first tile of K is always taken
  if (!limits.pad_k && (args.seqlen_k != nullptr || shape.seqlen_k == 0 || shape.seqlen_k % limits.n0 != 0))
    return Status::error(StatusCode::unsupported, "%lld keys%s are no whole tiles of %d",
                         static_cast<long long>(shape.seqlen_k), args.seqlen_k ? " at most" : "", limits.n0);
  return Status::success();
}

/// Slopes of alibi that ck_tile's kernels count distances for.
inline Status check_fmha_slopes(const FmhaTraits& traits, const FmhaShape& shape, const FmhaArgs& args) noexcept {
  if (traits.bias != FmhaBias::alibi) return Status::success();
  constexpr std::int64_t kMostDistance = 1 << 16;
  if (shape.seqlen_q > kMostDistance || shape.seqlen_k > kMostDistance)
    return Status::error(StatusCode::unsupported, "%lld x %lld scores: slopes are for distances of 16 bits",
                         static_cast<long long>(shape.seqlen_q), static_cast<long long>(shape.seqlen_k));
  const bool square = !traits.varlen && args.seqlen_k == nullptr && shape.seqlen_q == shape.seqlen_k;
  if (traits.masked && shape.corner == FmhaCorner::top_left && !square)
    return Status::error(StatusCode::unsupported,
                         "with a mask from the top left ck_tile counts distances of slopes from there too");
  if (shape.heads_q > 1 && args.bias_strides.head != 1)
    return Status::error(StatusCode::unsupported, "slopes of heads are %lld apart: ck_tile's lie together",
                         static_cast<long long>(args.bias_strides.head));
  return Status::success();
}

inline Status check_fmha_dropout(const FmhaTraits& traits, const FmhaArgs& args) noexcept {
  if (traits.dropout == FmhaDropout::none || (args.p_drop >= 0 && args.p_drop < 1)) return Status::success();
  return Status::error(StatusCode::invalid_argument, "p_drop = %g is not in [0, 1)", static_cast<double>(args.p_drop));
}

/// What mask, bias, softcap and dropout of ck_tile's kernel cannot do.
inline Status check_fmha_scores(const FmhaLimits& limits, const FmhaShape& shape, const FmhaArgs& args) noexcept {
  const FmhaTraits& traits = limits.traits;
  if (traits.masked && shape.sink_tokens != 0)
    return Status::error(StatusCode::unsupported, "the CK tree's masks have no sink tokens, %d are asked for",
                         shape.sink_tokens);
  if (traits.bias == FmhaBias::none && !traits.softcap && !(args.scale >= 0))
    return Status::error(StatusCode::unsupported, "a scale of %g: maxima are taken before it is applied",
                         static_cast<double>(args.scale));
  if (traits.softcap && !(args.softcap > 0))
    return Status::error(StatusCode::invalid_argument, "a softcap of %g is not above 0",
                         static_cast<double>(args.softcap));
  if (const Status status = check_fmha_dropout(traits, args); !status.ok()) return status;
  return check_fmha_slopes(traits, shape, args);
}

/// The pages of a kernel that reads them.
inline Status check_fmha_pages(const FmhaLimits& limits, const FmhaShape& shape, const FmhaArgs& args) noexcept {
  const bool list = limits.traits.kv == FmhaKv::page_list;
  const Status tables =
      list ? check_fmha_list(shape, args) : check_fmha_table(shape, args, limits.gathers ? 1 : limits.n0);
  if (!tables.ok()) return tables;
  if (args.seqlen_q != nullptr)
    return Status::error(StatusCode::unsupported, "seqlen_q: the kernel has lengths of Q from seqstart_q alone");
  return limits.gathers ? check_fmha_cache_rows(shape, args) : Status::success();
}

/// Whether the kernel computes the problem: a refusal names the first rule that is broken.
inline Status check_fmha(const FmhaLimits& limits, const FmhaShape& shape, const FmhaArgs& args) noexcept {
  if (const Status status = check_fmha_sizes(limits, shape, args); !status.ok()) return status;
  if (const Status status = check_fmha_scores(limits, shape, args); !status.ok()) return status;
  const FmhaTraits& traits = limits.traits;
  const std::int64_t batches = traits.varlen ? 1 : shape.batch;
  const bool paged = traits.kv != FmhaKv::contiguous;
  if (paged) {
    if (const Status status = check_fmha_pages(limits, shape, args); !status.ok()) return status;
  }
  // 32 bits count the rows of a cache that is gathered from; else those of a page, that there may be two is enough
  const FmhaCacheRows cache = cache_rows(shape, args);
  const std::int64_t rows_k = shape.seqlen_k == 0 || !paged ? shape.seqlen_k
                              : limits.gathers              ? shape.pages * cache.per_page
                                                            : shape.page_size;
  const std::int64_t batches_k = !paged ? batches : limits.gathers ? 1 : 2;
  const FmhaStrides k_strides{limits.gathers ? cache.stride_k : args.k_strides.row, args.k_strides.head,
                              args.k_strides.batch};
  const FmhaStrides v_strides{limits.gathers ? cache.stride_v : args.v_strides.row, args.v_strides.head,
                              args.v_strides.batch};
  const std::int64_t rows_v = traits.v_column ? shape.hdim_v : rows_k;
  const std::int64_t columns_v = traits.v_column ? shape.seqlen_k : shape.hdim_v;
  const bool vector_v = traits.v_column ? !limits.pad_k : limits.vector_v;
  const FmhaStrides lse{1, args.lse_head_stride, args.lse_batch_stride};
  const FmhaTensor tensors[] = {
      {"Q", args.q, args.q_strides, shape.seqlen_q, shape.hdim_q, shape.heads_q, batches, limits.q, limits.vector_q},
      {"K", args.k, k_strides, rows_k, shape.hdim_q, shape.heads_k, batches_k, limits.kv, limits.vector_q},
      {"V", args.v, v_strides, rows_v, columns_v, shape.heads_k, batches_k, limits.kv, vector_v},
      {"O", args.o, args.o_strides, shape.seqlen_q, shape.hdim_v, shape.heads_q, batches, limits.o, limits.vector_v,
       !limits.combines},
      {"lse", args.lse, lse, shape.seqlen_q, 1, shape.heads_q, batches, DType::fp32, false,
       traits.lse && !limits.combines},
      {"bias", args.bias, args.bias_strides, shape.seqlen_q, shape.seqlen_k, shape.heads_q, batches, limits.q,
       !limits.pad_k, traits.bias == FmhaBias::elementwise}};
  for (const FmhaTensor& one : tensors) {
    if (!one.is_used) continue;
    if (const Status status = check_fmha_tensor(one); !status.ok()) return status;
  }
  if (traits.bias == FmhaBias::alibi && args.bias == nullptr)
    return Status::error(StatusCode::invalid_argument, "the slopes are null");
  if (traits.varlen && (args.seqstart_q == nullptr || (args.seqstart_k == nullptr && !paged)))
    return Status::error(StatusCode::invalid_argument, "seqstart_q or seqstart_k is null");
  if (traits.quant == FmhaQuant::per_tensor &&
      (args.q_descale == nullptr || args.k_descale == nullptr || args.v_descale == nullptr))
    return Status::error(StatusCode::invalid_argument, "a descale is null");
  return Status::success();
}

}  // namespace ckgen::tile
