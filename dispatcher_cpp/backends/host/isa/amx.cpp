// Register tiles of AMX: 16 rows of A by 16 words of K, times 16 words by 16 columns of B, into 16 x 16 sums.
//
// Only this file is compiled with tile instructions; all else that such a CPU runs is of the level below
// (gemm/blocking.cpp). Sums of bf16 are in the order of K, pairs one after the other, subnormal numbers being 0
// (Intel's manual, TDPBF16PS); those of int8 are exact (TDPBSSD).
#define CKGEN_HOST_LEVEL 5
#include "backends/host/isa/amx_fold.hpp"
#include "backends/host/isa/amx_pack.hpp"
#include "backends/host/isa/amx_tiles.hpp"
#include "backends/host/isa/table.hpp"

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// Tiles 0 to 3 are sums, 4 and 5 of A, 6 and 7 of B. A has `words` words of K, and B so many rows.
constexpr TileConfig config_of(int words) {
  return TileConfig().with(0, 3, kTileRows, 64).with(4, 5, kTileRows, words * 4).with(6, 7, words, 64);
}
constexpr TileConfig kWhole = config_of(kGrain);

// c += a * b. Tile numbers are part of an instruction, so that products are written out.
#define CKGEN_ADD_PRODUCT(c, a, b)    \
  if constexpr (KIND == PackKind::i8) \
    _tile_dpbssd(c, a, b);            \
  else                                \
    _tile_dpbf16ps(c, a, b)

// Where the operands of products begin: of A a panel, or rows as they lie in memory, of B two panels.
struct Operands {
  const unsigned char *a, *left, *right;
  std::int64_t a_row, a_step;  // bytes from one row of A to the next, and from one step of K to the next

  Operands after(std::int64_t steps) const {
    return {a + steps * a_step, left + steps * kTileBytes, right + steps * kTileBytes, a_row, a_step};
  }
};

// What is done beside products, a few rows at each step: the rows of the tile before are rounded, and the lines that
// this one goes to are asked for; a core waits for many at once.
class Beside {
 public:
  Beside(const MicroCall& call, int rows)
      : line_(call.result),
        line_next_(static_cast<std::uintptr_t>(call.result_next)),
        lines_(call.result == 0 ? 0 : rows),
        before_(call.before),
        at_once_(rows_at_once(call)) {}

  [[gnu::always_inline]] inline void step() {
    constexpr int kLinesAtOnce = 4;
    if (lines_ > 0) {
      for (int i = 0; i < kLinesAtOnce; ++i, line_ += line_next_) _m_prefetchw(reinterpret_cast<void*>(line_));
      lines_ -= kLinesAtOnce;
    }
    for (int i = 0; i < at_once_ && before_.rows > 0; ++i) round_row();
  }
  // What the steps left of the tile before.
  void finish() {
    while (before_.rows > 0) round_row();
  }

 private:
  static std::int32_t rows_at_once(const MicroCall& call) {
    const std::int64_t words = call.group == 0 || call.words < call.group ? call.words : call.group;
    const auto steps = static_cast<std::int32_t>(words / kGrain);
    return call.before.rows == 0 || steps == 0 ? 0 : (call.before.rows + steps - 1) / steps;
  }
  // As encode() of the level below rounds it.
  [[gnu::always_inline]] inline void round_row() {
    constexpr int kNanOrSubnormal = 0xa1;
    const __m512 low = _mm512_loadu_ps(before_.sums), high = _mm512_loadu_ps(before_.sums + kTileRows);
    if ((_mm512_fpclass_ps_mask(low, kNanOrSubnormal) | _mm512_fpclass_ps_mask(high, kNanOrSubnormal)) != 0) {
      kIsaV4Bf16.encode(DType::bf16, before_.sums, before_.out, kTileColumns);
    } else {
      const __m512bh both = _mm512_cvtne2ps_pbh(high, low);
      __builtin_memcpy(before_.out, &both, sizeof both);
    }
    before_.sums += kTileColumns;
    before_.out += before_.next;
    --before_.rows;
  }

  std::uintptr_t line_, line_next_;
  int lines_;
  TileResult before_;
  std::int32_t at_once_;
};

// A call's rows of A are those of the next call: up to so many steps of them stay in the first-level cache. What else
// is read passes through.
constexpr std::int64_t kStepsKept = 20;
// Tile numbers are part of this instruction too.
#define CKGEN_LOAD_A(tile, from)      \
  if constexpr (KEEPS_A)              \
    _tile_loadd(tile, from, o.a_row); \
  else                                \
    _tile_stream_loadd(tile, from, o.a_row)

// Adds `steps` products of words to the sums in tiles. What two products wait for is loaded ahead of the first.
template <PackKind KIND, int MR, bool KEEPS_A, class BesideProducts>
[[gnu::always_inline]] inline void add_steps(const Operands& o, std::int64_t steps, BesideProducts& beside) {
  for (std::int64_t k = 0; k < steps; ++k) {
    const unsigned char* a = o.a + k * o.a_step;
    CKGEN_LOAD_A(4, a);
    _tile_stream_loadd(6, o.left + k * kTileBytes, 64);
    _tile_stream_loadd(7, o.right + k * kTileBytes, 64);
    CKGEN_ADD_PRODUCT(0, 4, 6);
    if constexpr (MR > kTileRows) {
      CKGEN_LOAD_A(5, a + kTileRows * o.a_row);
    }
    CKGEN_ADD_PRODUCT(1, 4, 7);
    beside.step();
    if constexpr (MR > kTileRows) {
      CKGEN_ADD_PRODUCT(2, 5, 6);
      CKGEN_ADD_PRODUCT(3, 5, 7);
    }
  }
}

[[gnu::always_inline]] inline void zero_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

template <int MR>
[[gnu::always_inline]] inline void store_tiles(void* sums, std::int64_t ld) {
  auto* c = static_cast<unsigned char*>(sums);
  _tile_stored(0, c, ld * 4);
  _tile_stored(1, c + 64, ld * 4);
  if constexpr (MR > kTileRows) {
    _tile_stored(2, c + kTileRows * ld * 4, ld * 4);
    _tile_stored(3, c + kTileRows * ld * 4 + 64, ld * 4);
  }
}

// Sums of so many words, added to those in memory where there are some.
template <PackKind KIND, int MR>
void add_words(Operands o, std::int64_t words, bool has_sums, void* sums, std::int64_t ld, Beside beside) {
  auto* c = static_cast<unsigned char*>(sums);
  for (std::int64_t k = 0; k < words;) {
    const bool is_whole = words - k >= kGrain;
    const std::int64_t step = is_whole ? kGrain : words - k, steps = is_whole ? words / kGrain : 1;
    keep_order();
    if (!is_whole) {
      const TileConfig rest = config_of(static_cast<int>(step));
      _tile_loadconfig(&rest);
    }
    if (!has_sums) {
      zero_sums();
    } else {
      _tile_loadd(0, c, ld * 4);
      _tile_loadd(1, c + 64, ld * 4);
      if constexpr (MR > kTileRows) {
        _tile_loadd(2, c + kTileRows * ld * 4, ld * 4);
        _tile_loadd(3, c + kTileRows * ld * 4 + 64, ld * 4);
      }
    }
    if (steps <= kStepsKept)
      add_steps<KIND, MR, true>(o, steps, beside);
    else
      add_steps<KIND, MR, false>(o, steps, beside);
    beside.finish();
    store_tiles<MR>(c, ld);
    if (!is_whole) _tile_loadconfig(&kWhole);
    k += steps * step;
    o = o.after(steps);
    has_sums = true;
  }
  keep_order();
}

// What one group of K adds to a tile.
using Sums = float[2 * kTileRows][2 * kTileRows];

// What is done beside products of a group of K: c = c + (sums * a_scale) * b_scale for the group before, or without c.
class ScaleBeside {
 public:
  ScaleBeside(const MicroCall& call, int rows)
      : call_(call), rows_(rows), at_once_(static_cast<int>((rows * kGrain + call.group - 1) / call.group)) {}

  // The sums of group g, which the next steps see to.
  void begin(const Sums& sums, std::int64_t g) {
    sums_ = sums[0];
    a_scale_ = call_.a_scale + g * call_.a_scale_next;
    left_ = _mm512_loadu_ps(call_.b_scale + g * call_.b_scale_next);
    right_ = _mm512_loadu_ps(call_.b_scale + g * call_.b_scale_next + kTileRows);
    has_sums_ = g > 0 || (call_.flags & kAccumulate) != 0;
    c_ = static_cast<float*>(call_.acc);
    left_over_ = rows_;
  }
  [[gnu::always_inline]] inline void step() {
    for (int i = 0; i < at_once_ && left_over_ > 0; ++i) scale_row();
  }
  void finish() {
    while (left_over_ > 0) scale_row();
  }

 private:
  [[gnu::always_inline]] inline void scale_row() {
    const __m512 of_row = _mm512_set1_ps(*a_scale_++);
    __m512 v = _mm512_mul_ps(_mm512_mul_ps(_mm512_load_ps(sums_), of_row), left_);
    __m512 w = _mm512_mul_ps(_mm512_mul_ps(_mm512_load_ps(sums_ + kTileRows), of_row), right_);
    if (has_sums_) {
      v = _mm512_add_ps(v, _mm512_loadu_ps(c_));
      w = _mm512_add_ps(w, _mm512_loadu_ps(c_ + kTileRows));
    }
    _mm512_storeu_ps(c_, v);
    _mm512_storeu_ps(c_ + kTileRows, w);
    sums_ += 2 * kTileRows;
    c_ += call_.ld;
    --left_over_;
  }

  const MicroCall& call_;
  const int rows_, at_once_;
  int left_over_ = 0;
  bool has_sums_ = false;
  const float *sums_ = nullptr, *a_scale_ = nullptr;
  float* c_ = nullptr;
  __m512 left_{}, right_{};
};

// Group by group: while tiles add up one, vectors scale the one before; beside the first, what is beside any tile.
template <int MR>
void add_groups(Operands o, const MicroCall& call) {
  alignas(64) Sums sums[2];
  Beside first(call, MR);
  ScaleBeside beside(call, MR);
  const std::int64_t groups = (call.words + call.group - 1) / call.group, steps = call.group / kGrain;
  keep_order();
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t left = call.words - g * call.group;
    if (left >= call.group) {
      zero_sums();
      if (g == 0) {
        add_steps<PackKind::bf16, MR, false>(o, steps, first);
        first.finish();
      } else {
        add_steps<PackKind::bf16, MR, false>(o, steps, beside);
        beside.finish();
      }
      store_tiles<MR>(sums[g % 2], 2 * kTileRows);
      keep_order();
    } else {
      beside.finish();
      add_words<PackKind::bf16, MR>(o, left, false, sums[g % 2], 2 * kTileRows, g == 0 ? first : Beside({}, MR));
    }
    beside.begin(sums[g % 2], g);
    o = o.after(steps);
  }
  beside.finish();
}

template <PackKind KIND, int MR>
void micro(const MicroCall& call) {
  static_assert((KIND == PackKind::bf16 || KIND == PackKind::i8) && (MR == kTileRows || MR == 2 * kTileRows));
  const auto* b = static_cast<const unsigned char*>(call.b);
  const bool is_panel = call.a_row == 0;
  const Operands o{static_cast<const unsigned char*>(call.a), b + call.panels[0] * 4, b + call.panels[1] * 4,
                   is_panel ? 64 : call.a_row, is_panel ? MR * 64 : 64};
  if (KIND == PackKind::bf16 && (call.flags & kScaled) != 0)
    add_groups<MR>(o, call);
  else
    add_words<KIND, MR>(o, call.words, (call.flags & kAccumulate) != 0, call.acc, call.ld, Beside(call, MR));
}

void begin_tiles() {
  _tile_loadconfig(&kWhole);
}
void end_tiles() {
  _tile_release();
}

#undef CKGEN_ADD_PRODUCT
#undef CKGEN_LOAD_A

template <PackKind KIND>
constexpr MicroKernel kTiles[] = {{16, 32, &micro<KIND, 16>, kGrain}, {32, 32, &micro<KIND, 32>, kGrain}};

}  // namespace

static_assert(begin_with(x86_64_amx_f32, x86_64_v4_bf16_f32, 0));
static_assert(begin_with(x86_64_amx_int8, x86_64_v4_bf16_int8, 2) &&
              are_last_of(x86_64_amx_int8, kTiles<PackKind::i8>));
static_assert(begin_with(x86_64_amx_bf16, x86_64_v4_bf16_bf16, 2) &&
              are_last_of(x86_64_amx_bf16, kTiles<PackKind::bf16>));

constinit const AmxKernels kAmx = {{kTiles<PackKind::bf16>, 2},
                                   {kTiles<PackKind::i8>, 2},
                                   &pack_tiles,
                                   &fold_rows,
                                   &fold_columns,
                                   &begin_tiles,
                                   &end_tiles};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
