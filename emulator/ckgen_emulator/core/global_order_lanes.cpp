// The common case of GlobalOrder's check: 64 lanes that meet nobody else's record.
#include <bit>

#include "global_order.hpp"
#include "global_order_record.hpp"
#include "lane_access.hpp"
#include "lane_runs.hpp"

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
      const std::uint64_t more = bytes == kAllBytes ? 0 : bytes_before(read(word), stamp, !Stores);
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

#ifdef __AVX512F__
/// The records of whole dwords one after the other: whether nobody else's is among them, each even one a writer's.
bool met_run(const std::uint64_t* words, std::uint64_t count, __mmask8 checked, std::uint64_t stamp) {
  constexpr long long kOne = 1ll << kWaveAt, kEnd = (1ll << kEpochAt) - kOne;
  const __m512i own = _mm512_set1_epi64(static_cast<long long>(stamp)), one = _mm512_set1_epi64(kOne);
  const __m512i end = _mm512_set1_epi64(kEnd);
  __mmask8 met = 0;
  for (std::uint64_t at = 0; at < count; at += 8) {
    const auto here = static_cast<__mmask8>(count - at >= 8 ? checked : checked & ((1u << (count - at)) - 1));
    // as `foreign`
    const __m512i differ = _mm512_xor_si512(_mm512_maskz_loadu_epi64(here, words + at), own);
    met |= _mm512_mask_cmplt_epu64_mask(here, _mm512_sub_epi64(differ, one), end);
  }
  return met != 0;
}

void sign_run(std::uint64_t* words, std::uint64_t count, __mmask8 signs, std::uint64_t record) {
  const __m512i all = _mm512_set1_epi64(static_cast<long long>(record));
  for (std::uint64_t at = 0; at < count; at += 8) {
    const auto here = static_cast<__mmask8>(count - at >= 8 ? signs : signs & ((1u << (count - at)) - 1));
    _mm512_mask_storeu_epi64(words + at, here, all);
  }
}
#else
bool met_run(const std::uint64_t* words, std::uint64_t count, unsigned checked, std::uint64_t stamp) {
  bool met = false;
  for (std::uint64_t at = 0; at < count; ++at) met |= (checked >> (at & 1) & 1) != 0 && foreign(read(words[at]), stamp);
  return met;
}

void sign_run(std::uint64_t* words, std::uint64_t count, unsigned signs, std::uint64_t record) {
  for (std::uint64_t at = signs & 1 ? 0 : 1; at < count; at += 2) write(words[at], record);
}
#endif

}  // namespace

bool GlobalOrder::check_alone(Allocation& allocation, const LaneRuns& runs, Access access, std::uint64_t stamp) {
  constexpr std::uint8_t kOfWriters = 0x55, kOfReaders = 0xaa;
  const bool loads = access == Access::load || access == Access::scoped_load;
  for (const LaneRun& run : runs) {
    if (((run.address | run.bytes) & 3) != 0) return false;
  }
  std::uint64_t* words = allocation.order_words();
  for (const LaneRun& run : runs) {
    const std::uint8_t checked = loads ? kOfWriters : kOfWriters | kOfReaders;
    if (met_run(words + 2 * allocation.dword(run.address), run.bytes / 2, checked, stamp)) return false;
  }
  if (access == Access::scoped_load) return true;
  for (const LaneRun& run : runs) {
    sign_run(words + 2 * allocation.dword(run.address), run.bytes / 2, loads ? kOfReaders : kOfWriters,
             stamp | kAllBytes);
  }
  return true;
}

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
