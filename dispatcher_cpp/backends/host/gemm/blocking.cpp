#include "backends/host/gemm/blocking.hpp"

#include "backends/host/gemm/check.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {

namespace {

#if CKGEN_HOST_X86_64_AMX
// The table of v4_bf16 with tiles behind its menus of bf16 and int8, and in attention of bf16; made by portable code,
// which any CPU may run.
struct WithTiles {
  static constexpr int kMost = 24;
  MicroKernel bf16[kMost], i8[kMost];
  FmhaKernels fmha;
  IsaTable table;

  WithTiles() noexcept : bf16{}, i8{}, fmha(*kIsaV4Bf16.fmha[static_cast<int>(PackKind::bf16)]), table(kIsaV4Bf16) {
    append(table.menu[static_cast<int>(PackKind::bf16)], kAmx.bf16, bf16);
    append(table.menu[static_cast<int>(PackKind::i8)], kAmx.i8, i8);
    table.pack_tiles = kAmx.pack_tiles;
    table.fold_rows = kAmx.fold_rows;
    table.fold_columns = kAmx.fold_columns;
    table.begin_tiles = kAmx.begin_tiles;
    table.end_tiles = kAmx.end_tiles;
    fmha.groups = kAmxFmha.groups;
    fmha.rows[kFmhaRowsBf16] = kAmxFmha.bf16;
    fmha.rows[kFmhaRowsFp8] = kAmxFmha.fp8;
    fmha.rows[kFmhaRowsFnuz] = kAmxFmha.fnuz;
    fmha.backward.product = kAmxFmha.product;
    fmha.backward.turn = kAmxFmha.product_turn;
    table.fmha[static_cast<int>(PackKind::bf16)] = &fmha;
  }
  static void append(IsaTable::Menu& menu, const IsaTable::Menu& more, MicroKernel* all) noexcept {
    const int count = std::min(menu.count, kMost - more.count);
    std::copy_n(menu.kernels, count, all);
    std::copy_n(more.kernels, more.count, all + count);
    menu = {all, count + more.count};
  }
};
const IsaTable* amx_table() noexcept {
  static const WithTiles made;
  return &made.table;
}
#endif

PackKind int8_kind(const IsaTable& isa) noexcept {
  return isa.menu[static_cast<int>(PackKind::i16)].count > 0 ? PackKind::i16 : PackKind::i8;
}

// Whether dot products of bf16 have the products of a group of K exactly: tiles add up whole grains of two elements to
// a word, and fp4 is packed along K.
bool suits_groups(const GemmTraits& t) noexcept {
  if (t.quant == Quant::blockscale) return t.scale_block.k % (2 * kGrain) == 0 && is_fp8(t.a) && is_fp8(t.b);
  return t.layout == Layout::rcr && (is_fp8(t.a) || t.a == DType::fp4) && (is_fp8(t.b) || t.b == DType::fp4);
}

}  // namespace

const IsaTable* table_for(Isa isa) noexcept {
  switch (isa) {
    case Isa::x86_64_v3: return &kIsaV3;
#if CKGEN_HOST_X86_64_V4
    case Isa::x86_64_v4: return &kIsaV4;
#endif
#if CKGEN_HOST_X86_64_V4_BF16
    case Isa::x86_64_v4_bf16: return &kIsaV4Bf16;
#endif
#if CKGEN_HOST_X86_64_AMX
    case Isa::x86_64_amx: return amx_table();
#endif
    default: return nullptr;  // not in this build
  }
}

// bf16 and every narrower float are exact as bf16; operands of two tensors need fp32 panels.
PackKind host_kind(const GemmTraits& t, const IsaTable& isa) noexcept {
  if (t.a == DType::int8) return int8_kind(isa);
  const bool narrow = (t.a == DType::bf16 || is_fp8(t.a)) && (t.b == DType::bf16 || is_fp8(t.b));
  const bool grouped = t.quant == Quant::blockscale || t.quant == Quant::mx;
  const bool combines = t.a_op != OperandOp::none || t.b_op != OperandOp::none;
  return (grouped ? suits_groups(t) : narrow) && !combines && isa.menu[static_cast<int>(PackKind::bf16)].count > 0
             ? PackKind::bf16
             : PackKind::f32;
}

Blocking twin_blocking(const GemmTraits& t, const TwinConfig& c, std::int64_t k_batch, std::int64_t k) noexcept {
  Blocking b{};
  b.isa = table_for(detect_isa());
  b.kind = t.a == DType::int8 ? int8_kind(*b.isa) : PackKind::f32;
  const MicroKernel& tall = b.isa->menu[static_cast<int>(b.kind)].kernels[0];
  b.mr = tall.mr;
  b.nr = tall.nr;
  b.block_m = c.tile_m;
  b.block_n = c.tile_n;
  // Any depth gives the same sums; whole tiles of K near 256 keep a panel of B in the first-level cache.
  b.kc = c.tile_k * std::max<std::int64_t>(1, 256 / c.tile_k);
  const std::int64_t step = k_batch * c.tile_k;
  b.split = std::max<std::int64_t>(1, (k + step - 1) / step * c.tile_k);
  b.split_mode = c.k_batch_mode;
  b.threads = thread_count();
  return b;
}

Blocking host_blocking(const GemmTraits& t, const HostConfig& c, std::int64_t k) noexcept {
  Blocking b{};
  b.isa = table_for(c.isa);
  b.kind = host_kind(t, *b.isa);
  b.mr = c.mr;
  b.nr = c.nr;
  b.block_m = c.mc;
  b.block_n = c.nc;
  // Elements of fp32, and as many words of narrower types; tiles of AMX take elements as they are.
  b.kc = has_tiles(b) ? c.kc : std::int64_t{c.kc} * elements_per_word(b.kind);
  b.split = std::max<std::int64_t>(1, k);
  b.split_mode = 0;
  b.dots = true;
  b.threads = c.threads == 0 ? thread_count() : std::min(c.threads, thread_count());
  return b;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
