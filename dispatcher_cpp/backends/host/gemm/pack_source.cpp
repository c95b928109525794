#include "backends/host/gemm/pack_source.hpp"

#include "backends/host/gemm/fused.hpp"
#include "ckgen/codecs.hpp"
#include "ckgen/prepack.hpp"

#include <algorithm>
#include <cstring>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

struct PairTable {
  float value[256][2];
};
template <class Decode>
constexpr PairTable make_pairs(Decode value_of) noexcept {
  PairTable t{};
  for (std::uint32_t i = 0; i < 256; ++i)
    for (int e = 0; e < 2; ++e) t.value[i][e] = value_of(nibble(static_cast<std::uint8_t>(i), e));
  return t;
}

constexpr PairTable kFp4Pairs = make_pairs([](std::uint32_t code) { return decode(DType::fp4, code); });
constexpr PairTable kInt4Pairs = make_pairs([](std::uint32_t code) { return static_cast<float>(decode_int4(code)); });

struct Fp8Tables {
  DecodeTable fp32;
  std::uint16_t bf16[256];
};
constexpr Fp8Tables make_fp8(DType t) noexcept {
  Fp8Tables all{make_decode_table(t), {}};
  for (int i = 0; i < 256; ++i) all.bf16[i] = static_cast<std::uint16_t>(encode(DType::bf16, all.fp32.value[i]));
  return all;
}
constexpr Fp8Tables kFp8[] = {make_fp8(DType::fp8_fnuz), make_fp8(DType::fp8_ocp), make_fp8(DType::bf8_fnuz),
                              make_fp8(DType::bf8_ocp)};

const Fp8Tables* tables_of(DType t) noexcept {
  switch (t) {
    case DType::fp8_fnuz: return &kFp8[0];
    case DType::fp8_ocp: return &kFp8[1];
    case DType::bf8_fnuz: return &kFp8[2];
    case DType::bf8_ocp: return &kFp8[3];
    default: return nullptr;
  }
}

}  // namespace

PackSource make_pack_source(PackKind kind, DType type, const void* base, std::int64_t ld, bool k_contiguous,
                            bool preshuffled) noexcept {
  PackSource s{};
  s.base = static_cast<const unsigned char*>(base);
  s.type = type;
  s.kind = kind;
  s.k_contiguous = k_contiguous;
  s.preshuffled = preshuffled;
  s.ld = ld;
  if (const Fp8Tables* tables = tables_of(type)) {
    s.table = tables->fp32.value;
    s.table16 = tables->bf16;
  }
  s.pairs = type == DType::int4 ? kInt4Pairs.value : kFp4Pairs.value;
  return s;
}

void pack_columns(const IsaTable& isa, const PackSource& b, std::int64_t n0, std::int64_t count, std::int64_t width,
                  std::int64_t k0, std::int64_t length, std::int64_t stride, void* panels) noexcept {
  auto* out = static_cast<std::uint32_t*>(panels);
  const auto words = static_cast<std::size_t>((length + elements_per_word(b.kind) - 1) / elements_per_word(b.kind));
  for (std::int64_t j = 0; j < width; j += kPanelColumns, out += stride) {
    if (j < count)
      isa.pack(b, n0 + j, std::min<std::int64_t>(kPanelColumns, count - j), kPanelColumns, k0, length, out);
    else
      std::memset(out, 0, words * kPanelColumns * 4);
  }
}

void pack_panel(const IsaTable& isa, const MicroKernel& micro, const PackSource& a, std::int64_t m0, std::int64_t count,
                std::int64_t k0, std::int64_t length, void* panel) noexcept {
  (micro.grain > 1 ? isa.pack_tiles : isa.pack)(a, m0, count, micro.mr, k0, length, panel);
}

PackSource a_source(PackKind kind, const GemmTraits& traits, const GemmArgs& args, std::int64_t batch) noexcept {
  PackSource s = make_pack_source(kind, traits.a, element(args.a, traits.a, batch * args.batch_stride_a), args.lda,
                                  a_is_row_major(traits.layout), false);
  s.is_a = true;
  return combined(s, traits.a_op, args.a1, batch * args.batch_stride_a);
}

PackSource b_source(PackKind kind, const GemmTraits& traits, const GemmArgs& args, std::int64_t batch) noexcept {
  if (args.b_prepacked) {
    const std::int64_t entry = args.batch_stride_b == 0 ? 0 : batch;
    const auto* panels = static_cast<const unsigned char*>(args.b) + sizeof(PackedBHeader);
    PackSource s = make_pack_source(kind, traits.b, panels + entry * packed_b_stride(traits.b, args.n, args.k),
                                    packed_b_words(traits.b, args.k), true, false);
    s.prepacked = true;
    return s;
  }
  const unsigned char* base = element(args.b, traits.b, batch * args.batch_stride_b);
  PackSource s = make_pack_source(kind, traits.b, base, traits.preshuffle_b ? args.k : args.ldb,
                                  !b_is_row_major(traits.layout), traits.preshuffle_b);
  return combined(s, traits.b_op, args.b1, batch * args.batch_stride_b);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
