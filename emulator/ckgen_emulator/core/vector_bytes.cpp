// Operations on the bytes and halves of a dword: permutation, averages, sums of absolute differences.
#include "vector_parts.hpp"

namespace ckgen::emu {
namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;

constexpr U byte_of(U64 value, unsigned at) {
  return static_cast<U>(value >> 8 * at & 0xff);
}
constexpr U distance(U x, U y) {
  return x > y ? x - y : y - x;
}

/// Each byte of c selects one of {a, b}'s eight (b's first), a sign (8…11: of the bytes 1, 3, 5, 7), 0 (12) or 0xff.
constexpr U perm(U a, U b, U c) {
  const U64 both = U64{a} << 32 | b;
  U result = 0;
  for (unsigned at = 0; at < 4; ++at) {
    const U select = c >> 8 * at & 0xff;
    const U picked = static_cast<U>(both >> 8 * (select & 7)) & 0xff;
    const U sign = (both >> (16 * (select & 3) + 15) & 1) != 0 ? 0xff : 0;
    const U one = select < 8 ? picked : select < 12 ? sign : select == 12 ? 0 : 0xff;
    result |= one << 8 * at;
  }
  return result;
}

/// Bytewise (a + b + lowest bit of c's byte) / 2.
constexpr U lerp(U a, U b, U c) {
  U result = 0;
  for (unsigned at = 0; at < 4; ++at) result |= ((byte_of(a, at) + byte_of(b, at) + (c >> 8 * at & 1)) >> 1) << 8 * at;
  return result;
}

/// Sum of the bytes' distances; `Masked`: bytes that are 0 in b do not count.
template <bool Masked>
constexpr U sad_bytes(U a, U b) {
  U sum = 0;
  for (unsigned at = 0; at < 4; ++at) {
    const U y = byte_of(b, at);
    sum += Masked && y == 0 ? 0 : distance(byte_of(a, at), y);
  }
  return sum;
}
constexpr U sad_halves(U a, U b) {
  return distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16);
}

/// sum + c, saturated under clamp.
template <auto Sum>
void sad(Wave& wave, const Inst& inst) {
  const Lanes a(wave, inst, 0), b(wave, inst, 1), c(wave, inst, 2);
  Row<U> r;
  const bool clamp = inst.clamp;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const U64 sum = U64{Sum(a[lane], b[lane])} + c[lane];
    r[lane] = clamp && sum > 0xffff'ffff ? ~U{0} : static_cast<U>(sum);
  }
  write_lanes(wave, inst, r.v);
}

/// Four sums of b against the dwords of a that begin at its bytes 0…3, each added to a half of c.
template <bool Masked>
void quad_halves(Wave& wave, const Inst& inst) {
  Row<U64> a, c;
  read_u64(wave, inst, 0, a);
  const Lanes b(wave, inst, 1);
  read_u64(wave, inst, 2, c);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    U64 result = 0;
    for (unsigned at = 0; at < 4; ++at) {
      const U64 sum = sad_bytes<Masked>(static_cast<U>(a[lane] >> 8 * at), b[lane]) + (c[lane] >> 16 * at & 0xffff);
      result |= (inst.clamp && sum > 0xffff ? 0xffff : sum & 0xffff) << 16 * at;
    }
    c[lane] = result;
  }
  write_u64(wave, inst, c);
}

/// The same with four dwords of c.
void quad_dwords(Wave& wave, const Inst& inst) {
  Row<U64> a;
  read_u64(wave, inst, 0, a);
  const Lanes b(wave, inst, 1);
  Row<U> r[4];
  for (unsigned at = 0; at < 4; ++at) {
    const Lanes c(wave, inst, 2, at);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const U64 sum = U64{sad_bytes<true>(static_cast<U>(a[lane] >> 8 * at), b[lane])} + c[lane];
      r[at][lane] = inst.clamp && sum > 0xffff'ffff ? ~U{0} : static_cast<U>(sum);
    }
  }
  for (unsigned at = 0; at < 4; ++at) write_lanes(wave, inst, r[at].v, at);
}

constexpr Semantics kAll[] = {
    plain_semantics("v_perm_b32", bits32<3, perm>),
    plain_semantics("v_lerp_u8", bits32<3, lerp>),
    plain_semantics("v_sad_u8", sad<sad_bytes<false>>),
    plain_semantics("v_sad_hi_u8", sad<[](U a, U b) { return sad_bytes<false>(a, b) << 16; }>),
    plain_semantics("v_sad_u16", sad<sad_halves>),
    plain_semantics("v_msad_u8", sad<sad_bytes<true>>),
    plain_semantics("v_qsad_pk_u16_u8", quad_halves<false>),
    plain_semantics("v_mqsad_pk_u16_u8", quad_halves<true>),
    plain_semantics("v_mqsad_u32_u8", quad_dwords),
};

}  // namespace

std::span<const Semantics> vector_bytes_semantics() noexcept {
  return kAll;
}

}  // namespace ckgen::emu
