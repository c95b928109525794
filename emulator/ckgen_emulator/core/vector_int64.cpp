// 64-bit integer operations.
#include "vector_parts.hpp"

namespace ckgen::emu {
namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;
using I64 = std::int64_t;

/// b shifted by a.
template <auto Op>
void shift(Wave& wave, const Inst& inst) {
  const Lanes a(wave, inst, 0);
  Row<U64> b;
  read_u64(wave, inst, 1, b);
  for (unsigned lane = 0; lane < kLanes; ++lane) b[lane] = Op(a[lane] & 63, b[lane]);
  write_u64(wave, inst, b);
}

/// (a << b) + c; the shift's count is three bits.
void lshl_add(Wave& wave, const Inst& inst) {
  Row<U64> a, c;
  read_u64(wave, inst, 0, a);
  const Lanes b(wave, inst, 1);
  read_u64(wave, inst, 2, c);
  for (unsigned lane = 0; lane < kLanes; ++lane) a[lane] = (a[lane] << (b[lane] & 7)) + c[lane];
  write_u64(wave, inst, a);
}

/// 32 bits times 32 bits plus 64 bits, bit 64 of the sum to sdst. Under clamp it saturates.
template <bool Signed>
void mad(Wave& wave, const Inst& inst) {
  using Wide = std::conditional_t<Signed, __int128, unsigned __int128>;
  using Result = std::conditional_t<Signed, I64, U64>;
  using Source = std::conditional_t<Signed, std::int32_t, U>;
  const Lanes a(wave, inst, 0);
  const Lanes b(wave, inst, 1);
  Row<U64> c;
  read_u64(wave, inst, 2, c);
  Row<std::uint8_t> out;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const Result product = Result{static_cast<Source>(a[lane])} * static_cast<Source>(b[lane]);
    const Wide sum = Wide{product} + static_cast<Result>(c[lane]);
    out[lane] = static_cast<std::uint8_t>(sum >> 64 & 1);
    c[lane] = static_cast<U64>(sum);
    if (!inst.clamp) continue;
    constexpr Result low = std::numeric_limits<Result>::min(), high = std::numeric_limits<Result>::max();
    c[lane] = static_cast<U64>(sum < Wide{low} ? low : sum > Wide{high} ? high : static_cast<Result>(sum));
  }
  const LaneMask mask = mask_of(out);
  write_u64(wave, inst, c);
  write_mask(wave, inst.sdst, mask);
}

constexpr Semantics kAll[] = {
    plain_semantics("v_lshlrev_b64", shift<[](U a, U64 b) { return b << a; }>),
    plain_semantics("v_lshrrev_b64", shift<[](U a, U64 b) { return (b >> a); }>),
    plain_semantics("v_ashrrev_i64", shift<[](U a, U64 b) { return static_cast<U64>(static_cast<I64>(b) >> a); }>),
    plain_semantics("v_lshl_add_u64", lshl_add),
    plain_semantics("v_mad_u64_u32", mad<false>, kHighMayBeUnwritten),
    plain_semantics("v_mad_i64_i32", mad<true>, kHighMayBeUnwritten),
};

}  // namespace

std::span<const Semantics> vector_int64_semantics() noexcept {
  return kAll;
}

}  // namespace ckgen::emu
