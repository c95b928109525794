// ck_tile's sequences, sorted by a constant expression.
#pragma once

#include_next <ck_tile/core/container/sequence.hpp>

#include "backends/device/sorted_lists.hpp"

namespace ck_tile {

template <index_t... Values>
struct sequence_sort<sequence<Values...>, less<index_t>> : ckgen::lists::Sorting<sequence, false, Values...>::Result {};

template <index_t... Values>
struct sequence_sort<const sequence<Values...>, less<index_t>> : sequence_sort<sequence<Values...>, less<index_t>> {};

template <index_t... Values>
struct sequence_unique_sort<sequence<Values...>, less<index_t>, equal<index_t>>
    : ckgen::lists::Sorting<sequence, true, Values...>::Result {};

template <index_t... Values>
struct sequence_unique_sort<const sequence<Values...>, less<index_t>, equal<index_t>>
    : sequence_unique_sort<sequence<Values...>, less<index_t>, equal<index_t>> {};

}  // namespace ck_tile
