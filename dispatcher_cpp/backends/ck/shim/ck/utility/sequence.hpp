// Classic CK's sequences, sorted by a constant expression.
#pragma once

#include_next <ck/utility/sequence.hpp>

#include "backends/device/sorted_lists.hpp"

namespace ck {

template <index_t... Values>
struct sequence_sort<Sequence<Values...>, math::less<index_t>>
    : ckgen::lists::Sorting<Sequence, false, Values...>::Result {};

template <index_t... Values>
struct sequence_sort<const Sequence<Values...>, math::less<index_t>>
    : sequence_sort<Sequence<Values...>, math::less<index_t>> {};

template <index_t... Values>
struct sequence_unique_sort<Sequence<Values...>, math::less<index_t>, math::equal<index_t>>
    : ckgen::lists::Sorting<Sequence, true, Values...>::Result {};

template <index_t... Values>
struct sequence_unique_sort<const Sequence<Values...>, math::less<index_t>, math::equal<index_t>>
    : sequence_unique_sort<Sequence<Values...>, math::less<index_t>, math::equal<index_t>> {};

}  // namespace ck
