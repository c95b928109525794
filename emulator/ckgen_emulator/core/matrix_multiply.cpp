// Products of unpacked elements, added to accumulators in their registers' layout.
#include <bit>

#include "matrix.hpp"
#include "matrix_vector.hpp"

namespace ckgen::emu {
namespace {

/// Where four rows i…i+3 of a block lie: four registers from `first` on, columns from lane `lane` on.
template <unsigned M>
struct Segment {
  unsigned first, lane;

  Segment(unsigned block, unsigned rows) noexcept
      : first(block * (M * M / 64) + rows / (64 / M) * 4), lane(rows % (64 / M) * M) {}
};

/// Accumulators of `Segments` segments at a time; enough chains of additions to hide their latency.
template <unsigned M>
struct Tile {
  static constexpr unsigned kSegments = 32 / M;
  static constexpr unsigned kColumns = M / kFloats;
  Floats sum[kSegments * 4][kColumns];

  /// Adds the products of `length` consecutive k; `a` at the tile's first row, `b` at its first column.
  [[gnu::always_inline]] void add(const float* a, const float* b, unsigned length) noexcept {
    for (unsigned k = 0; k < length; ++k, a += kLanes, b += kLanes) {
      Floats columns[kColumns];
      for (unsigned c = 0; c < kColumns; ++c) columns[c] = load<Floats>(b + c * kFloats);
      for (unsigned row = 0; row < kSegments * 4; ++row) {
        const Floats factor = broadcast(a[row]);
        for (unsigned c = 0; c < kColumns; ++c) sum[row][c] = multiply_add(factor, columns[c], sum[row][c]);
      }
    }
  }
};

/// Calls `act(row in tile, column vector, register, lane)` for all vectors of a tile.
template <unsigned M, class Act>
[[gnu::always_inline]] inline void each_vector(unsigned block, unsigned segment, const Act& act) {
  using T = Tile<M>;
  for (unsigned s = 0; s < T::kSegments; ++s) {
    const Segment<M> at(block, segment + s);
    for (unsigned row = 0; row < 4; ++row) {
      for (unsigned c = 0; c < T::kColumns; ++c) act(s * 4 + row, c, at.first + row, at.lane + c * kFloats);
    }
  }
}

/// What an i8 product's sum is added as: below 2^24, so exact in the float it was formed in.
[[gnu::always_inline]] inline Ints plus(const Floats& sum, const std::uint32_t* c) noexcept {
  using Unsigned [[gnu::vector_size(kVectorBytes)]] = std::uint32_t;
  const Ints whole = __builtin_convertvector(sum, Ints);
  return reinterpret_cast<Ints>(reinterpret_cast<Unsigned>(whole) + load<Unsigned>(c));
}

template <unsigned M, unsigned Blocks, bool Integer>
void squares(const LaneElements& a, const LaneElements& b, const KOrder& order, Accumulators c,
             LaneValues* d) noexcept {
  using T = Tile<M>;
  for (unsigned block = 0; block < Blocks; ++block) {
    for (unsigned segment = 0; segment < M / 4; segment += T::kSegments) {
      T tile;
      const auto read = [&](unsigned row, unsigned column, unsigned at, unsigned lane) {
        tile.sum[row][column] = Integer ? Floats{} : load<Floats>(c.rows + at * c.stride + lane);
      };
      each_vector<M>(block, segment, read);
      for (unsigned run = 0; run < order.count; ++run) {
        tile.add(&a.at[0][0] + order.runs[run].a + block * M + segment * 4, &b.at[0][0] + order.runs[run].b + block * M,
                 order.length);
      }
      const auto write = [&](unsigned row, unsigned column, unsigned at, unsigned lane) {
        if constexpr (Integer) {
          store(&d[at][lane], plus(tile.sum[row][column], c.rows + at * c.stride + lane));
        } else {
          store(&d[at][lane], tile.sum[row][column]);
        }
      };
      each_vector<M>(block, segment, write);
    }
  }
}

/// 16 blocks of 4x4: register i holds row i of every block, block b in lanes 4b…4b+3.
template <bool Integer>
void fours(const LaneElements& a, const LaneElements& b, const KOrder& order, Accumulators c, LaneValues* d) noexcept {
  for (unsigned i = 0; i < 4; ++i) {
    alignas(64) float sum[kLanes];
    for (unsigned lane = 0; lane < kLanes; ++lane)
      sum[lane] = Integer ? 0 : std::bit_cast<float>(c.rows[i * c.stride + lane]);
    for (unsigned k = 0; k < order.length; ++k) {
      alignas(64) float row[kLanes];
      for (unsigned lane = 0; lane < kLanes; ++lane) row[lane] = a.at[k][(lane & ~3u) + i];
      for (unsigned lane = 0; lane < kLanes; lane += kFloats) {
        store(sum + lane,
              multiply_add(load<Floats>(row + lane), load<Floats>(b.at[k] + lane), load<Floats>(sum + lane)));
      }
    }
    for (unsigned lane = 0; lane < kLanes; lane += kFloats) {
      if constexpr (Integer) {
        store(&d[i][lane], plus(load<Floats>(sum + lane), c.rows + i * c.stride + lane));
      } else {
        store(&d[i][lane], load<Floats>(sum + lane));
      }
    }
  }
}

template <unsigned M>
void scaled_squares(const LaneElements& a, const LaneElements& b, const KOrder& order, const float (&a_scales)[kLanes],
                    const float (&b_scales)[kLanes], Accumulators c, LaneValues* d) noexcept {
  using T = Tile<M>;
  const unsigned runs_per_block = 32 / order.length;
  for (unsigned segment = 0; segment < M / 4; segment += T::kSegments) {
    T total;
    each_vector<M>(0, segment, [&](unsigned row, unsigned column, unsigned at, unsigned lane) {
      total.sum[row][column] = load<Floats>(c.rows + at * c.stride + lane);
    });
    for (unsigned run = 0; run < order.count; run += runs_per_block) {
      T tile{};
      for (unsigned r = run; r < run + runs_per_block; ++r) {
        tile.add(&a.at[0][0] + order.runs[r].a + segment * 4, &b.at[0][0] + order.runs[r].b, order.length);
      }
      const unsigned first = run / runs_per_block * M;  // lane of the block's first scale
      for (unsigned row = 0; row < T::kSegments * 4; ++row) {
        const Doubles row_scale = broadcast(static_cast<double>(a_scales[first + segment * 4 + row]));
        for (unsigned c = 0; c < T::kColumns; ++c) {
          const Floats column_scales = load<Floats>(b_scales + first + c * kFloats);
          Doubles sum[2];
          for (unsigned h = 0; h < 2; ++h) {
            sum[h] = multiply_add(widened(tile.sum[row][c], h), row_scale * widened(column_scales, h),
                                  widened(total.sum[row][c], h));
          }
          total.sum[row][c] = narrowed(sum[0], sum[1]);
        }
      }
    }
    each_vector<M>(0, segment, [&](unsigned row, unsigned column, unsigned at, unsigned lane) {
      store(&d[at][lane], total.sum[row][column]);
    });
  }
}

}  // namespace

Multiply multiply_of(unsigned m, unsigned blocks, bool integer) noexcept {
  switch (m * 100 + blocks) {
    case 3201: return integer ? squares<32, 1, true> : squares<32, 1, false>;
    case 3202: return integer ? squares<32, 2, true> : squares<32, 2, false>;
    case 1601: return integer ? squares<16, 1, true> : squares<16, 1, false>;
    case 1604: return integer ? squares<16, 4, true> : squares<16, 4, false>;
    case 416: return integer ? fours<true> : fours<false>;
    default: return nullptr;
  }
}

void multiply_scaled(unsigned m, const LaneElements& a, const LaneElements& b, const KOrder& order,
                     const float (&a_scales)[kLanes], const float (&b_scales)[kLanes], Accumulators c,
                     LaneValues* d) noexcept {
  return m == 32 ? scaled_squares<32>(a, b, order, a_scales, b_scales, c, d)
                 : scaled_squares<16>(a, b, order, a_scales, b_scales, c, d);
}

}  // namespace ckgen::emu
