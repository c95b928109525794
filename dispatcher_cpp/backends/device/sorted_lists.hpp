// Sorts lists of numbers that are types, by a constant expression: ck and ck_tile merge them by recursive templates,
// which take an eighth of the time that one of their units takes to compile.
#pragma once

namespace ckgen {
namespace lists {

template <int Size>
struct Sorted {
  int values[Size] = {};
  int ids[Size] = {};
  int count = 0;
};

// The values with their places. Of equal ones the last goes first, as in upstream's merge, and is kept where each is
// `Unique`.
template <bool Unique, int... Values>
constexpr auto sorted() {
  Sorted<sizeof...(Values)> all;
  for (const int value : {Values...}) {
    int at = all.count;
    for (; at > 0 && all.values[at - 1] >= value; --at) {
      all.values[at] = all.values[at - 1];
      all.ids[at] = all.ids[at - 1];
    }
    all.values[at] = value;
    all.ids[at] = all.count++;
  }
  if (!Unique) return all;
  Sorted<sizeof...(Values)> kept;
  for (int i = 0; i < all.count; ++i) {
    if (i > 0 && all.values[i] == all.values[i - 1]) continue;
    kept.values[kept.count] = all.values[i];
    kept.ids[kept.count++] = all.ids[i];
  }
  return kept;
}

// Under the names of upstream's own templates, as lists of its type.
template <template <int...> class List, bool Unique, int... Values>
struct Sorting {
  static constexpr auto made = sorted<Unique, Values...>();

  template <class, int... Places>
  struct At {
    using type = List<made.values[Places]...>;
    using sorted2unsorted_map = List<made.ids[Places]...>;
  };
  using Result = __make_integer_seq<At, int, made.count>;
};

}  // namespace lists
}  // namespace ckgen
