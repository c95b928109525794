// Register tiles of AMX: 16 rows of A by 16 words of K, times 16 words by 16 columns of B, into 16 x 16 sums.
//
// Only this file is compiled with tile instructions; all else that such a CPU runs is of the level below
// (gemm/blocking.cpp). Sums of bf16 are in the order of K, pairs one after the other, subnormal numbers being 0
// (Intel's manual, TDPBF16PS); those of int8 are exact (TDPBSSD).
#define CKGEN_HOST_LEVEL 5
#include "backends/host/isa/table.hpp"
#include "backends/host/isa/transpose.hpp"

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr int kRows = 16;
constexpr std::int64_t kTileBytes = 1024;

// What LDTILECFG reads: tiles 0 to 3 are sums, 4 and 5 of A, 6 and 7 of B. A has `words` words of K, and B so many
// rows.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
  explicit constexpr TileConfig(int words) {
    for (int t = 0; t < 8; ++t) {
      row_bytes[t] = static_cast<std::uint16_t>(t == 4 || t == 5 ? words * 4 : 64);
      rows[t] = static_cast<std::uint8_t>(t >= 6 ? words : kRows);
    }
  }
};
constexpr TileConfig kWhole{kGrain};

// c += a * b. Tile numbers are part of an instruction, so that products are written out.
#define CKGEN_ADD_PRODUCT(c, a, b)    \
  if constexpr (KIND == PackKind::i8) \
    _tile_dpbssd(c, a, b);            \
  else                                \
    _tile_dpbf16ps(c, a, b)

// The asm of GCC's tile intrinsics does not say that it reads memory: what is stored before stays before.
template <PackKind KIND, int MR>
void micro(const MicroCall& call) {
  static_assert(KIND == PackKind::bf16 || KIND == PackKind::i8);
  constexpr bool kTwoRows = MR == 2 * kRows;
  static_assert(kTwoRows || MR == kRows);
  const std::int64_t words = call.words, ld = call.ld;
  const auto* a = static_cast<const unsigned char*>(call.a);
  const auto* left = static_cast<const unsigned char*>(call.b) + call.panels[0] * 4;
  const auto* right = static_cast<const unsigned char*>(call.b) + call.panels[1] * 4;
  auto* c = static_cast<unsigned char*>(call.acc);
  auto* below = c + kRows * ld * 4;
  bool has_sums = (call.flags & kAccumulate) != 0;
  for (std::int64_t k = 0; k < words;) {
    const bool is_whole = words - k >= kGrain;
    const std::int64_t step = is_whole ? kGrain : words - k, end = is_whole ? words - words % kGrain : words;
    const TileConfig rest(static_cast<int>(step));
    __asm__ volatile("" ::: "memory");
    _tile_loadconfig(is_whole ? &kWhole : &rest);  // all tiles are 0 then
    if (has_sums) {
      _tile_loadd(0, c, ld * 4);
      _tile_loadd(1, c + 64, ld * 4);
      if constexpr (kTwoRows) {
        _tile_loadd(2, below, ld * 4);
        _tile_loadd(3, below + 64, ld * 4);
      }
    }
    for (; k < end; k += step, a += MR * 64) {
      _tile_loadd(6, left + k * 64, 64);
      _tile_loadd(4, a, 64);
      CKGEN_ADD_PRODUCT(0, 4, 6);
      _tile_loadd(7, right + k * 64, 64);
      CKGEN_ADD_PRODUCT(1, 4, 7);
      if constexpr (kTwoRows) {
        _tile_loadd(5, a + kTileBytes, 64);
        CKGEN_ADD_PRODUCT(2, 5, 6);
        CKGEN_ADD_PRODUCT(3, 5, 7);
      }
    }
    _tile_stored(0, c, ld * 4);
    _tile_stored(1, c + 64, ld * 4);
    if constexpr (kTwoRows) {
      _tile_stored(2, below, ld * 4);
      _tile_stored(3, below + 64, ld * 4);
    }
    has_sums = true;
  }
  _tile_release();
  __asm__ volatile("" ::: "memory");
}

#undef CKGEN_ADD_PRODUCT

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
