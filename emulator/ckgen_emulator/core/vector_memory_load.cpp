// Loads from global memory, buffers and scratch to vector registers.
#include <algorithm>

#include "vector_memory.hpp"

namespace ckgen::emu {
namespace {

enum class Load : std::uint8_t { u8, i8, u16, i16, x1, x2, x3, x4, u8_lo, u8_hi, i8_lo, i8_hi, u16_lo, u16_hi };

constexpr unsigned size_of(Load kind) {
  switch (kind) {
    case Load::u8:
    case Load::i8:
    case Load::u8_lo:
    case Load::u8_hi:
    case Load::i8_lo:
    case Load::i8_hi: return 1;
    case Load::u16:
    case Load::i16:
    case Load::u16_lo:
    case Load::u16_hi: return 2;
    case Load::x2: return 8;
    case Load::x3: return 12;
    case Load::x4: return 16;
    default: return 4;
  }
}

constexpr bool extends(Load kind) {
  return kind == Load::i8 || kind == Load::i16 || kind == Load::i8_lo || kind == Load::i8_hi;
}
constexpr bool low_half(Load kind) {
  return kind == Load::u8_lo || kind == Load::i8_lo || kind == Load::u16_lo;
}
constexpr bool high_half(Load kind) {
  return kind == Load::u8_hi || kind == Load::i8_hi || kind == Load::u16_hi;
}

/// Dword `part` of what lies at `from`, widened to 32 bits, at most `size` bytes.
template <Load Kind>
inline std::uint32_t value_at(const std::uint8_t* from, unsigned part) noexcept {
  constexpr unsigned kSize = size_of(Kind);
  if constexpr (kSize == 1) {
    return extends(Kind) ? static_cast<std::uint32_t>(static_cast<std::int8_t>(*from)) : *from;
  } else if constexpr (kSize == 2) {
    std::uint16_t value;
    std::memcpy(&value, from, sizeof value);
    return extends(Kind) ? static_cast<std::uint32_t>(static_cast<std::int16_t>(value)) : value;
  } else {
    std::uint32_t value;
    std::memcpy(&value, from + 4 * part, sizeof value);
    return value;
  }
}

constexpr unsigned dwords_of(Load kind) {
  return (size_of(kind) + 3) / 4;
}

template <Load Kind>
using Values = std::uint32_t[dwords_of(Kind)][kLanes];

const std::uint8_t* host(std::uint64_t address) noexcept {
  return reinterpret_cast<const std::uint8_t*>(address);
}

template <Load Kind>
void fetch(const LaneAccess& access, LaneMask exec, Values<Kind>& values) noexcept {
  constexpr unsigned kDwords = dwords_of(Kind);
  if (access.lanes == exec && exec != 0) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      for (unsigned part = 0; part < kDwords; ++part)
        values[part][lane] = value_at<Kind>(host(access.address[lane]), part);
    }
    return;
  }
  std::memset(values, 0, sizeof values);
  for_each_lane(access.lanes, [&](unsigned lane) {
    for (unsigned part = 0; part < kDwords; ++part)
      values[part][lane] = value_at<Kind>(host(access.address[lane]), part);
  });
  for_each_lane(access.partial, [&](unsigned lane) {
    for (unsigned part = 0; part < access.dwords[lane]; ++part)
      values[part][lane] = value_at<Kind>(host(access.address[lane]), part);
  });
}

/// What one lane of FLAT reads from LDS or its private segment.
template <Load Kind>
void put_lane(Values<Kind>& values, unsigned lane, const std::uint8_t* from) noexcept {
  for (unsigned part = 0; part < dwords_of(Kind); ++part) values[part][lane] = value_at<Kind>(from, part);
}

template <Load Kind>
void commit(Wave& wave, const Inst& inst, const Values<Kind>& values, LaneMask exec) noexcept {
  if constexpr (low_half(Kind) || high_half(Kind)) {
    std::uint32_t* row = memory_row(wave, inst.dst);
    alignas(64) std::uint32_t merged[kLanes];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      merged[lane] = low_half(Kind) ? (row[lane] & 0xffff0000) | (values[0][lane] & 0xffff)
                                    : (row[lane] & 0xffff) | values[0][lane] << 16;
    }
    put_row(row, merged, exec);
  } else {
    for (unsigned part = 0; part < dwords_of(Kind); ++part)
      put_row(memory_row(wave, inst.dst, part), values[part], exec);
  }
}

template <Load Kind, bool Checked>
void swizzled_load(Wave& wave, const Inst& inst, const Resource& resource, LaneAccess& access, const Touching& touching,
                   Values<Kind>& values) {
  constexpr unsigned kPart = std::min(size_of(Kind), 4u);
  for (unsigned part = 0; part < dwords_of(Kind); ++part) {
    buffer_addresses(wave, inst, resource, kPart, kPart == 4, part, access);
    require_alignment(wave, inst, access, kPart);
    admit<Checked>(wave, inst, access, kPart, touching);
    for_each_lane(access.lanes,
                  [&](unsigned lane) { values[part][lane] = value_at<Kind>(host(access.address[lane]), 0); });
  }
}

template <Load Kind, bool Checked>
void flat_load(Wave& wave, const Inst& inst, const Apertures& apertures, const Issued& issued, Values<Kind>& values) {
  constexpr unsigned kSize = size_of(Kind);
  LaneAccess privates;
  for_each_lane(apertures.shared, [&](unsigned lane) {
    std::uint8_t bytes[16] = {};
    if (lds_load(wave, inst, lane, apertures.offset[lane], bytes, kSize, Checked ? issued.lgkm : 0))
      put_lane<Kind>(values, lane, bytes);
  });
  admit_scratch<Checked>(wave, inst, privates, apertures.offset, apertures.privates, kSize, Access::load);
  for_each_lane(privates.lanes, [&](unsigned lane) { put_lane<Kind>(values, lane, host(privates.address[lane])); });
}

template <Space S, Load Kind, bool Checked>
void load(Wave& wave, const Inst& inst) {
  constexpr unsigned kSize = size_of(Kind);
  if constexpr (S == Space::buffer) {
    if (inst.lds) return buffer_load_lds<Checked>(wave, inst, kSize, extends(Kind));
  }
  const Issued issued = issue<S>(wave);
  const LaneMask exec = wave.exec();
  if (exec == 0) return;
  note_load<Checked>(wave, inst, issued);
  const Touching touching{inst.sc1 ? Access::scoped_load : Access::load, issued.vm, nullptr, 0};
  LaneAccess access;
  alignas(64) Values<Kind> values;
  Apertures apertures;
  if constexpr (S == Space::scratch) {
    alignas(64) std::uint32_t offset[kLanes];
    scratch_offsets(wave, inst, offset);
    admit_scratch<Checked>(wave, inst, access, offset, exec, kSize, Access::load);
    fetch<Kind>(access, exec, values);
  } else {
    if constexpr (S == Space::buffer) {
      const Resource resource = resource_of(wave, inst);
      if (in_scratch_pool(resource.base)) {
        if (!admit_scratch_buffer<Checked>(wave, inst, resource, access, kSize, Access::load)) return;
        fetch<Kind>(access, exec, values);
        return commit<Kind>(wave, inst, values, exec);
      }
      if (resource.swizzled && resource.stride != 0) {
        std::memset(values, 0, sizeof values);
        swizzled_load<Kind, Checked>(wave, inst, resource, access, touching, values);
        wave.group->stats.global_read += kSize * static_cast<unsigned>(std::popcount(exec));
        return commit<Kind>(wave, inst, values, exec);
      }
      buffer_addresses(wave, inst, resource, kSize, kSize >= 4, 0, access);
    } else {
      global_addresses(wave, inst, access);
      if constexpr (S == Space::flat) split_apertures(access, apertures);
    }
    admit<Checked>(wave, inst, access, kSize, touching);
    fetch<Kind>(access, exec, values);
    if constexpr (S == Space::flat) {
      if (apertures.any()) flat_load<Kind, Checked>(wave, inst, apertures, issued, values);
    }
    wave.group->stats.global_read += kSize * static_cast<unsigned>(std::popcount(access.lanes));
    if constexpr (Checked) {
      if (inst.sc1) wave.launch->order.pick_up(wave, access.address, access.lanes, issued.vm);
    }
  }
  commit<Kind>(wave, inst, values, exec);
}

constexpr Semantics kTable[] = {
    CKGEN_IN_ALL_SPACES(load, "_load_ubyte", Load::u8, 0),
    CKGEN_IN_ALL_SPACES(load, "_load_sbyte", Load::i8, 0),
    CKGEN_IN_ALL_SPACES(load, "_load_ushort", Load::u16, 0),
    CKGEN_IN_ALL_SPACES(load, "_load_sshort", Load::i16, 0),
    CKGEN_IN_ALL_SPACES(load, "_load_dword", Load::x1, 0),
    CKGEN_IN_ALL_SPACES(load, "_load_dwordx2", Load::x2, 0),
    CKGEN_IN_ALL_SPACES(load, "_load_dwordx3", Load::x3, 0),
    CKGEN_IN_ALL_SPACES(load, "_load_dwordx4", Load::x4, 0),
    // The other half is kept when the data arrives, it is not read at issue: no kReadsDestination.
    CKGEN_IN_ALL_SPACES(load, "_load_ubyte_d16", Load::u8_lo, 0),
    CKGEN_IN_ALL_SPACES(load, "_load_ubyte_d16_hi", Load::u8_hi, 0),
    CKGEN_IN_ALL_SPACES(load, "_load_sbyte_d16", Load::i8_lo, 0),
    CKGEN_IN_ALL_SPACES(load, "_load_sbyte_d16_hi", Load::i8_hi, 0),
    CKGEN_IN_ALL_SPACES(load, "_load_short_d16", Load::u16_lo, 0),
    CKGEN_IN_ALL_SPACES(load, "_load_short_d16_hi", Load::u16_hi, 0),
};

}  // namespace

std::span<const Semantics> vector_load_semantics() noexcept {
  return kTable;
}

}  // namespace ckgen::emu
