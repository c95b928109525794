// Vector memory: cache control, FLAT's apertures, and the table of all of it.
#include "vector_memory.hpp"

#include <string_view>
#include <vector>

#include "lanes.hpp"

namespace ckgen::emu {
namespace {

/// buffer_wbl2: counted by vmcnt, unlike buffer_inv (LLVM puts s_waitcnt vmcnt(0) behind the one alone).
template <bool Checked>
void write_back(Wave& wave, const Inst& inst) {
  const std::uint32_t number = wave.waits.issue_vm();
  if constexpr (Checked) {
    if (inst.sc1) wave.launch->order.write_back(wave, number);
  }
}

template <bool Checked>
void invalidate(Wave& wave, const Inst& inst) {
  if constexpr (Checked) {
    if (inst.sc1) wave.launch->order.invalidate(wave);
  }
}

void no_cache(Wave&, const Inst&) {}

constexpr Semantics kCache[] = {
    {"buffer_wbl2", write_back<false>, write_back<true>, kCommunicates},
    {"buffer_inv", invalidate<false>, invalidate<true>, kCommunicates},
    {"buffer_invl2", no_cache, no_cache, kCommunicates},
    {"buffer_wbinvl1", no_cache, no_cache, kCommunicates},
    {"buffer_wbinvl1_vol", no_cache, no_cache, kCommunicates},
};

}  // namespace

std::span<const Semantics> cache_semantics() noexcept {
  return kCache;
}

void split_apertures(LaneAccess& access, Apertures& apertures) noexcept {
  apertures.shared = apertures.privates = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t high = access.address[lane] >> 32;
    apertures.shared |= LaneMask{high == kSharedAperture >> 32} << lane;
    apertures.privates |= LaneMask{high == kPrivateAperture >> 32} << lane;
  }
  apertures.shared &= access.lanes;
  apertures.privates &= access.lanes;
  if (!apertures.any()) return;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    apertures.offset[lane] = static_cast<std::uint32_t>(access.address[lane]);
  const LaneMask others = access.lanes & ~(apertures.shared | apertures.privates);
  access.lanes = others;
  if (others == 0) return;
  const std::uint64_t any = access.address[std::countr_zero(others)];
  for_each_lane(~others, [&](unsigned lane) { access.address[lane] = any; });
}

std::uint16_t dynamic_traits(const Inst& inst) noexcept {
  switch (inst.op->format) {
    case Format::flat:
    case Format::global:
    case Format::mubuf: return inst.sc1 ? kCommunicates : 0;
    default: return 0;
  }
}

std::span<const Semantics> vector_memory_semantics() noexcept {
  static const std::vector<Semantics> all = [] {
    std::vector<Semantics> table;
    for (const auto part : {vector_load_semantics(), vector_store_semantics(), vector_atomic_semantics(),
                            lds_load_semantics(), cache_semantics()}) {
      table.insert(table.end(), part.begin(), part.end());
    }
    return table;
  }();
  return all;
}

}  // namespace ckgen::emu
