// Which pages of K and V ck_tile's kernels read, see fmha_limits.hpp; and what a kernel over pages of any size notes.
//
// C++17, no ck_tile, no HIP. Pure functions.
#pragma once

#include <cstdint>
#include <limits>

#include <ckgen/fmha.hpp>
#include <ckgen/status.hpp>

namespace ckgen::tile {

/// The caches of K and V as rows one after the other: rows from page to page, and elements from row to row.
struct FmhaCacheRows {
  std::int64_t per_page, stride_k, stride_v;
};

inline FmhaCacheRows cache_rows(const FmhaShape& shape, const FmhaArgs& args) noexcept {
  if (shape.page_size == 1) return {1, args.k_strides.batch, args.v_strides.batch};
  const std::int64_t per_page = args.k_strides.row > 0 ? args.k_strides.batch / args.k_strides.row : 0;
  return {shape.pages > 1 ? per_page : shape.page_size, args.k_strides.row, args.v_strides.row};
}

/// Rows that are noted of a sequence's keys: whole steps, and what the kernel reads ahead.
constexpr std::int64_t noted_rows(const FmhaShape& shape, std::int32_t n0, std::int32_t k1) noexcept {
  const std::int64_t steps = (shape.seqlen_k + n0 - 1) / n0 + 1;  // one more, as the first need not be at a step
  return steps * n0 + k1;
}

/// Of a block table: all indices have 32 bits, and pages are whole steps of `step` keys; 1: any.
inline Status check_fmha_table(const FmhaShape& shape, const FmhaArgs& args, std::int32_t step) noexcept {
  if (shape.page_size <= 0 || shape.page_size % step != 0)
    return Status::error(StatusCode::unsupported, "pages of %d rows are no whole steps of %d keys", shape.page_size,
                         step);
  if (args.block_table == nullptr || args.seqlen_k == nullptr)
    return Status::error(StatusCode::invalid_argument, "block_table or seqlen_k is null");
  if (args.block_table_stride < 0 || shape.batch * args.block_table_stride > std::numeric_limits<std::int32_t>::max())
    return Status::error(StatusCode::unsupported, "%lld rows of block_table, %lld apart: ck_tile counts in 32 bits",
                         static_cast<long long>(shape.batch), static_cast<long long>(args.block_table_stride));
  return Status::success();
}

/// Of a list: its arrays, and pages of at least a row.
inline Status check_fmha_list(const FmhaShape& shape, const FmhaArgs& args) noexcept {
  if (shape.page_size <= 0) return Status::error(StatusCode::invalid_argument, "pages of %d rows", shape.page_size);
  if (args.kv_indptr == nullptr || args.kv_pages == nullptr || args.kv_last_page == nullptr)
    return Status::error(StatusCode::invalid_argument, "kv_indptr, kv_pages or kv_last_page is null");
  return Status::success();
}

/// Of caches that are read by the number of a row: pages lie whole rows apart, in K as in V.
inline Status check_fmha_cache_rows(const FmhaShape& shape, const FmhaArgs& args) noexcept {
  if (shape.pages < 1)
    return Status::error(StatusCode::unsupported, "a cache of %lld pages: how many there are must be known",
                         static_cast<long long>(shape.pages));
  const std::int64_t per_page = cache_rows(shape, args).per_page;
  if (per_page > std::numeric_limits<std::int32_t>::max() / shape.pages)
    return Status::error(StatusCode::unsupported, "%lld pages of %lld rows: ck_tile counts in 32 bits",
                         static_cast<long long>(shape.pages), static_cast<long long>(per_page));
  if (shape.page_size == 1 || shape.pages == 1) return Status::success();
  if (per_page < 1 || per_page * args.k_strides.row != args.k_strides.batch ||
      per_page * args.v_strides.row != args.v_strides.batch)
    return Status::error(StatusCode::unsupported, "pages of K %lld, and of V %lld apart: not as many whole rows",
                         static_cast<long long>(args.k_strides.batch), static_cast<long long>(args.v_strides.batch));
  return Status::success();
}

}  // namespace ckgen::tile
