// Stores to global memory, buffers and scratch.
#include "vector_memory.hpp"

namespace ckgen::emu {
namespace {

enum class Store : std::uint8_t { b8, b8_hi, b16, b16_hi, x1, x2, x3, x4 };

constexpr unsigned size_of(Store kind) {
  switch (kind) {
    case Store::b8:
    case Store::b8_hi: return 1;
    case Store::b16:
    case Store::b16_hi: return 2;
    case Store::x2: return 8;
    case Store::x3: return 12;
    case Store::x4: return 16;
    default: return 4;
  }
}
constexpr unsigned shift_of(Store kind) {
  return kind == Store::b8_hi || kind == Store::b16_hi ? 16 : 0;
}

std::uint8_t* host(std::uint64_t address) noexcept {
  return reinterpret_cast<std::uint8_t*>(address);
}

/// The bytes of one lane, dwords `first` on.
template <Store Kind>
inline void put(std::uint8_t* to, const LaneValues* rows, unsigned lane, unsigned count) noexcept {
  constexpr unsigned kSize = size_of(Kind);
  if constexpr (kSize < 4) {
    const std::uint32_t value = rows[0][lane] >> shift_of(Kind);
    std::memcpy(to, &value, kSize);
  } else {
    for (unsigned part = 0; part < count; ++part) std::memcpy(to + 4 * part, &rows[part][lane], 4);
  }
}

template <Store Kind>
void write_lanes_to(const LaneAccess& access, const LaneValues* rows) noexcept {
  constexpr unsigned kDwords = (size_of(Kind) + 3) / 4;
  if (access.lanes == ~LaneMask{0}) {
    for (unsigned lane = 0; lane < kLanes; ++lane) put<Kind>(host(access.address[lane]), rows, lane, kDwords);
  } else {
    for_each_lane(access.lanes, [&](unsigned lane) { put<Kind>(host(access.address[lane]), rows, lane, kDwords); });
  }
  for_each_lane(access.partial,
                [&](unsigned lane) { put<Kind>(host(access.address[lane]), rows, lane, access.dwords[lane]); });
}

template <Store Kind, bool Checked>
void flat_store(Wave& wave, const Inst& inst, const Apertures& apertures, const Issued& issued,
                const LaneValues* rows) {
  constexpr unsigned kSize = size_of(Kind);
  for_each_lane(apertures.shared, [&](unsigned lane) {
    std::uint8_t bytes[16];
    put<Kind>(bytes, rows, lane, (kSize + 3) / 4);
    lds_store(wave, inst, lane, apertures.offset[lane], bytes, kSize, Checked ? issued.lgkm : 0);
  });
  LaneAccess privates;
  admit_scratch<Checked>(wave, inst, privates, apertures.offset, apertures.privates, kSize, Access::store);
  for_each_lane(privates.lanes,
                [&](unsigned lane) { put<Kind>(host(privates.address[lane]), rows, lane, (kSize + 3) / 4); });
}

template <Store Kind, bool Checked>
void swizzled_store(Wave& wave, const Inst& inst, const Resource& resource, Touching touching) {
  constexpr unsigned kPart = size_of(Kind) < 4 ? size_of(Kind) : 4;
  LaneAccess access;
  const LaneValues* rows = touching.rows;
  for (unsigned part = 0; part < (size_of(Kind) + 3) / 4; ++part) {
    buffer_addresses(wave, inst, resource, kPart, kPart == 4, part, access);
    require_alignment(wave, inst, access, kPart);
    touching.rows = rows + part;
    admit<Checked>(wave, inst, access, kPart, touching);
    for_each_lane(access.lanes, [&](unsigned lane) { put<Kind>(host(access.address[lane]), rows + part, lane, 1); });
  }
}

template <Space S, Store Kind, bool Checked>
void store(Wave& wave, const Inst& inst) {
  constexpr unsigned kSize = size_of(Kind);
  const Issued issued = issue<S>(wave);
  const LaneMask exec = wave.exec();
  if (exec == 0) return;
  const unsigned first = inst.src[1].row();
  if (first + (kSize + 3) / 4 > kVectorRegisters) return;  // the register check reports it
  const LaneValues* rows = wave.v + first;
  const Touching touching{inst.sc1 ? Access::scoped_store : Access::store, issued.vm, rows, shift_of(Kind)};
  LaneAccess access;
  if constexpr (S == Space::scratch) {
    alignas(64) std::uint32_t offset[kLanes];
    scratch_offsets(wave, inst, offset);
    admit_scratch<Checked>(wave, inst, access, offset, exec, kSize, Access::store);
    write_lanes_to<Kind>(access, rows);
  } else {
    Apertures apertures;
    if constexpr (S == Space::buffer) {
      const Resource resource = resource_of(wave, inst);
      if (in_scratch_pool(resource.base)) {
        if (admit_scratch_buffer<Checked>(wave, inst, resource, access, kSize, Access::store))
          write_lanes_to<Kind>(access, rows);
        return;
      }
      if (resource.swizzled && resource.stride != 0) {
        wave.group->stats.global_written += kSize * static_cast<unsigned>(std::popcount(exec));
        return swizzled_store<Kind, Checked>(wave, inst, resource, touching);
      }
      buffer_addresses(wave, inst, resource, kSize, kSize >= 4, 0, access);
    } else {
      global_addresses(wave, inst, access);
      if constexpr (S == Space::flat) split_apertures(access, apertures);
    }
    admit<Checked>(wave, inst, access, kSize, touching);
    if constexpr (Checked) {
      // What is wider is data, not a flag.
      if (inst.sc1 && kSize <= 8) wave.launch->order.publish(wave, access.address, access.lanes, true);
    }
    write_lanes_to<Kind>(access, rows);
    if constexpr (S == Space::flat) {
      if (apertures.any()) flat_store<Kind, Checked>(wave, inst, apertures, issued, rows);
    }
    wave.group->stats.global_written += kSize * static_cast<unsigned>(std::popcount(access.lanes));
  }
}

constexpr Semantics kTable[] = {
    CKGEN_IN_ALL_SPACES(store, "_store_byte", Store::b8, 0),
    CKGEN_IN_ALL_SPACES(store, "_store_byte_d16_hi", Store::b8_hi, 0),
    CKGEN_IN_ALL_SPACES(store, "_store_short", Store::b16, 0),
    CKGEN_IN_ALL_SPACES(store, "_store_short_d16_hi", Store::b16_hi, 0),
    CKGEN_IN_ALL_SPACES(store, "_store_dword", Store::x1, 0),
    CKGEN_IN_ALL_SPACES(store, "_store_dwordx2", Store::x2, 0),
    CKGEN_IN_ALL_SPACES(store, "_store_dwordx3", Store::x3, 0),
    CKGEN_IN_ALL_SPACES(store, "_store_dwordx4", Store::x4, 0),
};

}  // namespace

std::span<const Semantics> vector_store_semantics() noexcept {
  return kTable;
}

}  // namespace ckgen::emu
