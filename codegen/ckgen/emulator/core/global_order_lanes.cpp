// The common case of GlobalOrder's check: 64 lanes that meet nobody else's record.
#include <bit>

#include "global_order.hpp"
#include "global_order_record.hpp"
#include "lane_access.hpp"

namespace ckgen::emu {
namespace {

using namespace order_record;

/// Visits each lane's first record, until `visit` is false.
template <class Visit>
bool each(const std::uint64_t* addresses, LaneMask lanes, std::uint64_t* words, std::uint64_t start, Visit visit) {
  if (lanes == ~LaneMask{0}) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (!visit(words + ((addresses[lane] & ~std::uint64_t{3}) - start) / 2, addresses[lane])) return false;
    }
    return true;
  }
  for (; lanes != 0; lanes &= lanes - 1) {
    const std::uint64_t address = addresses[std::countr_zero(lanes)];
    if (!visit(words + ((address & ~std::uint64_t{3}) - start) / 2, address)) return false;
  }
  return true;
}

#ifdef __AVX512F__
// Eight words at once; each element is read and written whole, as aligned words are.
template <unsigned Dwords>
constexpr __mmask8 kWriters = 0x55 & ((1u << 2 * Dwords) - 1);
template <unsigned Dwords>
constexpr __mmask8 kReaders = 0xaa & ((1u << 2 * Dwords) - 1);

/// Whole dwords.
template <unsigned Dwords, bool Stores>
bool sign_whole(std::uint64_t* words, std::uint64_t start, const std::uint64_t* addresses, LaneMask lanes,
                std::uint64_t stamp, bool records) {
  constexpr long long kOne = 1ll << kWaveAt, kEnd = (1ll << kEpochAt) - kOne;
  constexpr __mmask8 kChecked = kWriters<Dwords> | (Stores ? kReaders<Dwords> : 0);
  constexpr __mmask8 kSigned = Stores ? kWriters<Dwords> : kReaders<Dwords>;
  const __m512i own = _mm512_set1_epi64(static_cast<long long>(stamp)), one = _mm512_set1_epi64(kOne);
  const __m512i end = _mm512_set1_epi64(kEnd);
  __mmask8 met = 0;
  each(addresses, lanes, words, start, [&](const std::uint64_t* at, std::uint64_t) {
    // as `foreign`
    const __m512i differ = _mm512_xor_si512(_mm512_maskz_loadu_epi64(kChecked, at), own);
    met |= _mm512_mask_cmplt_epu64_mask(kChecked, _mm512_sub_epi64(differ, one), end);
    return true;
  });
  if (met != 0 || !records) return met == 0;
  const __m512i record = _mm512_set1_epi64(static_cast<long long>(stamp | kAllBytes));
  each(addresses, lanes, words, start, [&](std::uint64_t* at, std::uint64_t) {
    _mm512_mask_storeu_epi64(at, kSigned, record);
    return true;
  });
  return true;
}
#endif

template <unsigned Dwords, bool Stores>
bool sign(std::uint64_t* words, std::uint64_t start, const std::uint64_t* addresses, LaneMask lanes,
          std::uint64_t bytes, std::uint64_t stamp, bool records) {
#ifdef __AVX512F__
  if (bytes == kAllBytes) return sign_whole<Dwords, Stores>(words, start, addresses, lanes, stamp, records);
#endif
  const bool alone = each(addresses, lanes, words, start, [&](const std::uint64_t* at, std::uint64_t) {
    bool met = false;
    for (unsigned part = 0; part < Dwords; ++part) {
      met |= foreign(read(at[2 * part]), stamp);
      if (Stores) met |= foreign(read(at[2 * part + 1]), stamp);
    }
    return !met;
  });
  if (!alone || !records) return alone;
  each(addresses, lanes, words, start, [&](std::uint64_t* at, std::uint64_t address) {
    const std::uint64_t mask = bytes << (address & 3);
    for (unsigned part = 0; part < Dwords; ++part) {
      std::uint64_t& word = at[2 * part + (Stores ? 0 : 1)];
      std::uint64_t more = 0;
      if (Stores && bytes != kAllBytes) {
        const std::uint64_t old = read(word);
        more = (old ^ stamp) >> kWaveAt == 0 && through(old) == through(stamp) ? bytes_of(old) : 0;
      }
      write(word, stamp | mask | more);
    }
    return true;
  });
  return true;
}

template <unsigned Dwords>
bool sign_as(Access access, std::uint64_t* words, std::uint64_t start, const std::uint64_t* addresses, LaneMask lanes,
             std::uint64_t bytes, std::uint64_t stamp) {
  if (access == Access::load || access == Access::scoped_load) {
    return sign<Dwords, false>(words, start, addresses, lanes, bytes, stamp, access == Access::load);
  }
  return sign<Dwords, true>(words, start, addresses, lanes, bytes, stamp, true);
}

}  // namespace

bool GlobalOrder::check_alone(Allocation& allocation, const std::uint64_t* addresses, std::uint64_t lanes,
                              unsigned size, Access access, std::uint64_t stamp) {
  std::uint64_t low = 0, bytes = kAllBytes;
  for (unsigned lane = 0; lane < kLanes; ++lane) low |= addresses[lane];
  low &= 3;
  if (size < 4) {
    if (low + size > 4 && (size != 2 || (low & 1) != 0)) return false;
    bytes = ((std::uint64_t{1} << size) - 1) << kBytesAt;
  } else if (low != 0) {
    return false;
  }
  std::uint64_t* words = allocation.order_words();
  const std::uint64_t start = allocation.base & ~std::uint64_t{3};
  switch ((size + 3) / 4) {
    case 1: return sign_as<1>(access, words, start, addresses, lanes, bytes, stamp);
    case 2: return sign_as<2>(access, words, start, addresses, lanes, bytes, stamp);
    case 3: return sign_as<3>(access, words, start, addresses, lanes, bytes, stamp);
    default: return sign_as<4>(access, words, start, addresses, lanes, bytes, stamp);
  }
}

}  // namespace ckgen::emu
