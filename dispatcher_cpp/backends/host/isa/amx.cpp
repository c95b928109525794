// Register tiles of AMX: 16 rows of A by 16 words of K, times 16 words by 16 columns of B, into 16 x 16 sums.
//
// Only this file is compiled with tile instructions; all else that such a CPU runs is of the level below
// (gemm/blocking.cpp). Sums of bf16 are in the order of K, pairs one after the other, subnormal numbers being 0
// (Intel's manual, TDPBF16PS); those of int8 are exact (TDPBSSD).
#define CKGEN_HOST_LEVEL 5
#include "backends/host/isa/amx_tiles.hpp"
#include "backends/host/isa/table.hpp"
#include "backends/host/isa/transpose.hpp"

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr int kRows = kTileRows;

// Tiles 0 to 3 are sums, 4 and 5 of A, 6 and 7 of B. A has `words` words of K, and B so many rows.
constexpr TileConfig config_of(int words) {
  return TileConfig().with(0, 3, kRows, 64).with(4, 5, kRows, words * 4).with(6, 7, words, 64);
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
    const auto steps = static_cast<std::int32_t>(call.words / kGrain);
    return call.before.rows == 0 || steps == 0 ? 0 : (call.before.rows + steps - 1) / steps;
  }
  // As encode() of the level below rounds it.
  [[gnu::always_inline]] inline void round_row() {
    constexpr int kNanOrSubnormal = 0xa1;
    const __m512 low = _mm512_loadu_ps(before_.sums), high = _mm512_loadu_ps(before_.sums + kRows);
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
template <PackKind KIND, int MR, bool KEEPS_A>
[[gnu::always_inline]] inline void add_steps(const Operands& o, std::int64_t steps, Beside& beside) {
  for (std::int64_t k = 0; k < steps; ++k) {
    const unsigned char* a = o.a + k * o.a_step;
    CKGEN_LOAD_A(4, a);
    _tile_stream_loadd(6, o.left + k * kTileBytes, 64);
    _tile_stream_loadd(7, o.right + k * kTileBytes, 64);
    CKGEN_ADD_PRODUCT(0, 4, 6);
    if constexpr (MR > kRows) {
      CKGEN_LOAD_A(5, a + kRows * o.a_row);
    }
    CKGEN_ADD_PRODUCT(1, 4, 7);
    beside.step();
    if constexpr (MR > kRows) {
      CKGEN_ADD_PRODUCT(2, 5, 6);
      CKGEN_ADD_PRODUCT(3, 5, 7);
    }
  }
}

template <int MR>
[[gnu::always_inline]] inline void store_tiles(void* sums, std::int64_t ld) {
  auto* c = static_cast<unsigned char*>(sums);
  _tile_stored(0, c, ld * 4);
  _tile_stored(1, c + 64, ld * 4);
  if constexpr (MR > kRows) {
    _tile_stored(2, c + kRows * ld * 4, ld * 4);
    _tile_stored(3, c + kRows * ld * 4 + 64, ld * 4);
  }
}

// Sums of so many words, added to those in memory where there are some.
template <PackKind KIND, int MR>
void add_words(Operands o, std::int64_t words, bool has_sums, void* sums, std::int64_t ld, Beside beside) {
  auto* c = static_cast<unsigned char*>(sums);
  for (std::int64_t k = 0; k < words;) {
    const bool is_whole = words - k >= kGrain;
    const std::int64_t step = is_whole ? kGrain : words - k, steps = is_whole ? words / kGrain : 1;
    const TileConfig rest = config_of(static_cast<int>(step));
    keep_order();
    _tile_loadconfig(is_whole ? &kWhole : &rest);  // all tiles are 0 then
    if (has_sums) {
      _tile_loadd(0, c, ld * 4);
      _tile_loadd(1, c + 64, ld * 4);
      if constexpr (MR > kRows) {
        _tile_loadd(2, c + kRows * ld * 4, ld * 4);
        _tile_loadd(3, c + kRows * ld * 4 + 64, ld * 4);
      }
    }
    if (steps <= kStepsKept)
      add_steps<KIND, MR, true>(o, steps, beside);
    else
      add_steps<KIND, MR, false>(o, steps, beside);
    beside.finish();
    store_tiles<MR>(c, ld);
    k += steps * step;
    o = o.after(steps);
    has_sums = true;
  }
  keep_order();
}

// What one group of K adds to a tile.
using Sums = float[2 * kRows][2 * kRows];

// c = c + (sums * a_scale) * b_scale, or without c.
template <int MR>
void add_scaled(const Sums& sums, const float* a_scale, const float* b_scale, bool has_sums, float* c,
                std::int64_t ld) {
  const __m512 left = _mm512_loadu_ps(b_scale), right = _mm512_loadu_ps(b_scale + kRows);
  for (int i = 0; i < MR; ++i, c += ld) {
    const __m512 of_row = _mm512_set1_ps(a_scale[i]);
    __m512 v = _mm512_mul_ps(_mm512_mul_ps(_mm512_load_ps(sums[i]), of_row), left);
    __m512 w = _mm512_mul_ps(_mm512_mul_ps(_mm512_load_ps(sums[i] + kRows), of_row), right);
    if (has_sums) {
      v = _mm512_add_ps(v, _mm512_loadu_ps(c));
      w = _mm512_add_ps(w, _mm512_loadu_ps(c + kRows));
    }
    _mm512_storeu_ps(c, v);
    _mm512_storeu_ps(c + kRows, w);
  }
}

// Group by group: while tiles add up one, vectors scale the one before.
template <int MR>
void add_groups(Operands o, const MicroCall& call) {
  alignas(64) Sums sums[2];
  Beside beside(call, MR);  // empty: the caller of groups sees to C
  const std::int64_t groups = (call.words + call.group - 1) / call.group, steps = call.group / kGrain;
  const auto scale = [&](std::int64_t g) {
    add_scaled<MR>(sums[g % 2], call.a_scale + g * call.a_scale_next, call.b_scale + g * call.b_scale_next,
                   g > 0 || (call.flags & kAccumulate) != 0, static_cast<float*>(call.acc), call.ld);
  };
  keep_order();
  _tile_loadconfig(&kWhole);
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t left = call.words - g * call.group;
    if (left >= call.group) {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
      add_steps<PackKind::bf16, MR, false>(o, steps, beside);
      store_tiles<MR>(sums[g % 2], 2 * kRows);
      keep_order();
    } else {
      add_words<PackKind::bf16, MR>(o, left, false, sums[g % 2], 2 * kRows, beside);
    }
    if (g > 0) scale(g - 1);
    o = o.after(steps);
  }
  scale(groups - 1);
}

template <PackKind KIND, int MR>
void micro(const MicroCall& call) {
  static_assert((KIND == PackKind::bf16 || KIND == PackKind::i8) && (MR == kRows || MR == 2 * kRows));
  const auto* b = static_cast<const unsigned char*>(call.b);
  const bool is_panel = call.a_row == 0;
  const Operands o{static_cast<const unsigned char*>(call.a), b + call.panels[0] * 4, b + call.panels[1] * 4,
                   is_panel ? 64 : call.a_row, is_panel ? MR * 64 : 64};
  if (KIND == PackKind::bf16 && (call.flags & kScaled) != 0)
    add_groups<MR>(o, call);
  else
    add_words<KIND, MR>(o, call.words, (call.flags & kAccumulate) != 0, call.acc, call.ld, Beside(call, MR));
  _tile_release();
}

#undef CKGEN_ADD_PRODUCT
#undef CKGEN_LOAD_A

bool are_words_in_place(const PackSource& s) {
  const DType as_it_is = s.kind == PackKind::i8 ? DType::int8 : DType::bf16;
  return s.k_contiguous && !s.preshuffled && !s.prepacked && s.op == OperandOp::none && s.type == as_it_is;
}

// Rows [p0, p0 + count) x k [k0, k0 + length) as [words / kGrain][width][kGrain], where the words lie so in memory.
void copy_rows(const PackSource& s, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
               std::int64_t length, unsigned char* panel) {
  const std::int64_t size = 4 / elements_per_word(s.kind), bytes = length * size;
  for (std::int64_t r = 0; r < width; ++r) {
    const unsigned char* row = nullptr;
    if (r < count) row = s.base + ((s.rows == nullptr ? p0 + r : std::int64_t{s.rows[p0 + r]}) * s.ld + k0) * size;
    unsigned char* to = panel + r * 64;
    for (std::int64_t done = 0; done < bytes; done += 64, to += width * 64) {
      const std::int64_t left = row == nullptr ? 0 : bytes - done;
      const __mmask64 take = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
      _mm512_storeu_si512(to, _mm512_maskz_loadu_epi8(take, row == nullptr ? panel : row + done));
    }
  }
}

void pack_tiles(const PackSource& source, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                std::int64_t length, void* panel) {
  PackSource s = source;
  s.is_a = false;  // the instruction takes signed bytes on both sides
  auto* out = static_cast<unsigned char*>(panel);
  if (are_words_in_place(s)) return copy_rows(s, p0, count, width, k0, length, out);
  const std::int64_t step = std::int64_t{kGrain} * elements_per_word(s.kind);
  for (std::int64_t k = 0; k < length; k += step)
    for (int r = 0; r < width; r += kRows, out += kTileBytes) {
      __m512i words[kRows] = {};
      const std::int64_t here = count - r;
      if (here > 0)
        kIsaV4Bf16.pack(s, p0 + r, here < kRows ? here : kRows, kRows, k0 + k, length - k < step ? length - k : step,
                        words);
      transpose16(words);
      for (int i = 0; i < kRows; ++i) _mm512_storeu_si512(out + i * 64, words[i]);
    }
}

template <PackKind KIND>
constexpr MicroKernel kTiles[] = {{16, 32, &micro<KIND, 16>, kGrain}, {32, 32, &micro<KIND, 32>, kGrain}};

}  // namespace

static_assert(begin_with(x86_64_amx_f32, x86_64_v4_bf16_f32, 0));
static_assert(begin_with(x86_64_amx_int8, x86_64_v4_bf16_int8, 2) &&
              are_last_of(x86_64_amx_int8, kTiles<PackKind::i8>));
static_assert(begin_with(x86_64_amx_bf16, x86_64_v4_bf16_bf16, 2) &&
              are_last_of(x86_64_amx_bf16, kTiles<PackKind::bf16>));

constinit const AmxKernels kAmx = {{kTiles<PackKind::bf16>, 2}, {kTiles<PackKind::i8>, 2}, &pack_tiles};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
