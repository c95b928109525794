// The common case of LdsChecks: lanes whose states are all in order.
#include <algorithm>

#include "lds_access.hpp"
#include "lds_checks.hpp"
#include "lds_dma.hpp"
#include "lds_state.hpp"

namespace ckgen::emu {
namespace {

constexpr unsigned kQuad = 16;  // bytes of four dwords

/// Whether lanes of less than a dword fill aligned quadruples of dwords, one lane after the other.
template <unsigned Bytes>
bool fills_quads(const LdsAccess& access) noexcept {
  constexpr unsigned kGroup = kQuad / Bytes;
  std::uint32_t apart = 0;
  for (unsigned first = 0; first < kLanes; first += kGroup) {
    const std::uint32_t start = access.at[first];
    apart |= start & 3;
    for (unsigned lane = 0; lane < kGroup; ++lane) apart |= access.at[first + lane] ^ (start + lane * Bytes);
  }
  return apart == 0;
}

bool aligned(const LdsAccess& access) noexcept {
  std::uint32_t low = 0;
  if (access.lanes == ~LaneMask{0}) {
    for (unsigned lane = 0; lane < kLanes; ++lane) low |= access.at[lane];
  } else {
    each_lane(access.lanes, [&](unsigned lane) { low |= access.at[lane]; });
  }
  return low % std::min<unsigned>(access.bytes, 4) == 0;
}

/// Judges and stamps `Count` states of each lane, where `state(lane)` says.
template <unsigned Count, class State>
bool clean_lanes(const LdsPass& pass, LaneMask lanes, State&& state) {
  typename LdsPass::States<Count> bad{};
  each_lane(lanes, [&](unsigned lane) { bad |= pass.one<Count>(state(lane)); });
  return !LdsPass::any<Count>(bad);
}

}  // namespace

bool consecutive(LaneMask lanes, const std::uint32_t* at, unsigned bytes) noexcept {
  if (lanes != ~LaneMask{0}) return false;
  std::uint32_t apart = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) apart |= at[lane] ^ (at[0] + lane * bytes);
  return apart == 0;
}

bool by_dwords(const LdsAccess& access) noexcept {
  if (access.bytes >= 4) return true;
  if (access.lanes != ~LaneMask{0}) return false;
  return access.bytes == 1 ? fills_quads<1>(access) : access.bytes == 2 && fills_quads<2>(access);
}

/// Whether nothing is wrong, for kinds of accesses by dwords and states that need no closer look. States that do
/// keep what they hold.
bool LdsChecks::check_dwords(unsigned wave, const LdsAccess& access) {
  if (access.touch == Touch::atomic || !aligned(access)) return false;
  const LdsPass pass(epoch_, wave, access.touch == Touch::read);
  const auto dword = [&](unsigned lane) { return &dwords_[access.at[lane] / 4]; };
  if (access.bytes < 4) {
    const unsigned group = kQuad / access.bytes;
    return pass.clean<4>(kLanes / group, [&](unsigned i) { return dword(i * group); });
  }
  if (consecutive(access))
    return pass.clean<8>(kLanes * access.bytes / 32, [&](unsigned i) { return dword(0) + 8 * i; });
  switch (access.bytes) {
    case 4: return clean_lanes<1>(pass, access.lanes, dword);
    case 8: return clean_lanes<2>(pass, access.lanes, dword);
    case 12: {
      bool clean = true;
      for (unsigned part = 0; part < 3; ++part)
        clean &= clean_lanes<1>(pass, access.lanes, [&](unsigned lane) { return dword(lane) + part; });
      return clean;
    }
    case 16: return clean_lanes<4>(pass, access.lanes, dword);
    default: return false;
  }
}

/// The same for lanes of one or two bytes, by the states of bytes.
bool LdsChecks::check_small(unsigned wave, const LdsAccess& access) {
  if (access.touch == Touch::atomic || !aligned(access)) return false;
  const LdsPass pass(epoch_, wave, access.touch == Touch::read);
  each_lane(access.lanes, [&](unsigned lane) { split(access.at[lane] / 4); });
  const auto byte = [&](unsigned lane) { return &bytes_[access.at[lane]]; };
  if (consecutive(access)) return pass.clean<8>(kLanes * access.bytes / 8, [&](unsigned i) { return byte(0) + 8 * i; });
  return access.bytes == 1 ? clean_lanes<1>(pass, access.lanes, byte) : clean_lanes<2>(pass, access.lanes, byte);
}

/// Of a direct-to-LDS load: all or nothing, false where a state needs a closer look.
bool LdsChecks::dma_issued_in_order(unsigned wave, const LdsDelivery& delivery) {
  if (delivery.at[0] % 4 != 0 || !consecutive(delivery.lanes, delivery.at, delivery.bytes)) return false;
  constexpr unsigned kEight = 8;
  alignas(64) std::uint64_t states[kLanes * 4];
  const unsigned count = kLanes * delivery.bytes / 4;
  std::uint64_t* const from = &dwords_[delivery.at[0] / 4];
  std::copy_n(from, count, states);
  const LdsPass pass(epoch_, wave, false);
  if (!pass.clean<kEight>(count / kEight, [&](unsigned i) { return states + kEight * i; })) return false;
  for (unsigned i = 0; i < count; ++i) from[i] = states[i] | kLdsInFlight;
  return true;
}

/// Its wave has waited for it; false, with nothing done, where states are split or lanes apart.
bool LdsChecks::dma_waited_in_order(unsigned wave, const LdsAccess& access) {
  if (access.at[0] % 4 != 0 || !consecutive(access)) return false;
  const unsigned count = kLanes * access.bytes / 4;
  std::uint64_t* const states = &dwords_[access.at[0] / 4];
  std::uint64_t all = 0;
  for (unsigned i = 0; i < count; ++i) all |= states[i];
  if ((all & kLdsSplit) != 0) return false;
  const std::uint64_t here = kLdsWritten | std::uint64_t{wave} << 8 | std::uint64_t{epoch_} << 16;
  for (unsigned i = 0; i < count; ++i) states[i] = (states[i] & 0xffff'ffff'0000'0000) | here;
  return true;
}

}  // namespace ckgen::emu
