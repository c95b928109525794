#include "touched.hpp"

#include <algorithm>
#include <string_view>

#include "lane_access.hpp"
#include "lane_address.hpp"
#include "lds_access.hpp"
#include "private_segment.hpp"

namespace ckgen::emu {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Bytes of one lane, as the mnemonic of a load or store says.
unsigned named_bytes(std::string_view name) {
  if (has(name, "byte")) return 1;
  if (has(name, "short")) return 2;
  const std::size_t at = name.find("dwordx");
  return at == std::string_view::npos ? 4 : 4 * static_cast<unsigned>(name[at + 6] - '0');
}

bool keeps_high(std::string_view name) {
  return name.ends_with("_d16_hi");
}

TouchedPart& add(Touched& found, const TouchedPart& like, LaneMask lanes) {
  TouchedPart& part = found.parts[found.count++];
  part.lds = like.lds;
  part.reads = like.reads;
  part.writes = like.writes;
  part.first = like.first;
  part.data_first = like.data_first;
  part.data = like.data;
  part.lanes = lanes;
  return part;
}

void add(Touched& found, const TouchedPart& like, const LaneAccess& access, unsigned bytes) {
  TouchedPart& part = add(found, like, access.lanes | access.partial);
  for_each_lane(part.lanes, [&](unsigned lane) {
    part.at[lane] = access.address[lane];
    part.bytes[lane] = static_cast<std::uint8_t>((access.lanes >> lane & 1) != 0 ? bytes : 4u * access.dwords[lane]);
  });
}

/// LDS addresses of a direct load: M0, the immediate, and a lane's whole dwords.
void add_delivery(const Wave& wave, const Inst& inst, unsigned bytes, Touched& found) {
  TouchedPart like;
  like.lds = like.writes = true;
  TouchedPart& part = add(found, like, wave.exec());
  const std::uint32_t bits = wave.launch->chip.lds_bytes > 65536 ? 0x3ffff : 0xffff;
  const std::uint32_t start = (wave.s[kM0] & bits) + static_cast<std::uint32_t>(inst.offset);
  const unsigned whole = std::max(bytes, 4u);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    part.at[lane] = start + lane * whole;
    part.bytes[lane] = static_cast<std::uint8_t>(whole);
  }
}

void vector_memory(const Wave& wave, const Inst& inst, Touched& found) {
  const std::string_view name = inst.op->name;
  const bool atomic = has(name, "_atomic_"), store = has(name, "_store_");
  if (!atomic && !store && !has(name, "_load_")) return;
  const unsigned operands = has(name, "cmpswap") ? 2 : 1;
  const unsigned bytes = atomic ? 4u * inst.src[1].dwords / operands : named_bytes(name);
  const bool direct = inst.lds || has(name, "_lds_");
  TouchedPart like;
  like.reads = !store;
  like.writes = store || atomic;
  if (like.writes) like.data = inst.src[1];
  like.first = like.data_first = keeps_high(name) ? 2 : 0;
  LaneAccess access;
  if (inst.op->format == Format::mubuf) {
    const Resource resource = resource_of(wave, inst);
    if (in_scratch_pool(resource.base)) return;
    const bool per_dword = bytes >= 4 && !atomic, by_dwords = resource.swizzled && resource.stride != 0 && bytes > 4;
    for (unsigned part = 0; part < (by_dwords ? bytes / 4 : 1); ++part) {
      buffer_addresses(wave, inst, resource, by_dwords ? 4 : bytes, per_dword, part, access);
      add(found, like, access, by_dwords ? 4 : bytes);
      like.first += 4;
      like.data_first += 4;
    }
  } else {
    global_addresses(wave, inst, access);
    for_each_lane(access.lanes, [&](unsigned lane) {
      const std::uint64_t aperture = access.address[lane] >> 32 << 32;
      if (aperture == kSharedAperture || aperture == kPrivateAperture) access.lanes &= ~(LaneMask{1} << lane);
    });
    add(found, like, access, bytes);
  }
  if (direct) add_delivery(wave, inst, bytes, found);
}

/// gfx950's transposing reads, by halves of dwords; see lds_ops_transpose.cpp.
void transposed(const Wave& wave, const Inst& inst, unsigned bits, Touched& found) {
  const unsigned dwords = inst.dst.dwords, rows = 32 * dwords / bits, lanes_per_row = 16 / rows;
  const std::uint32_t* base = lds_row(wave, inst.src[0], 0);
  TouchedPart like;
  like.lds = like.reads = true;
  for (unsigned half = 0; half < 2 * dwords; ++half) {
    like.first = 2 * half;
    TouchedPart& part = add(found, like, wave.exec());
    const unsigned row = std::min((16 * half + bits - 1) / bits, rows - 1);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const unsigned column = lane % 16, from = lane - column + row * lanes_per_row + column / rows;
      part.at[lane] = base[from] + static_cast<std::uint32_t>(inst.offset) + column % rows * bits / 8;
      part.bytes[lane] = 2;
    }
  }
}

void lds(const Wave& wave, const Inst& inst, Touched& found) {
  const std::string_view name = inst.op->name;
  const bool read = name.starts_with("ds_read"), write = name.starts_with("ds_write");
  if (has(name, "permute") || has(name, "swizzle") || name == "ds_nop") return;
  if (const std::size_t at = name.find("_tr_b"); at != std::string_view::npos)
    return transposed(wave, inst, name[at + 5] == '1' ? 16 : static_cast<unsigned>(name[at + 5] - '0'), found);
  TouchedPart like;
  like.lds = true;
  like.reads = !write;
  like.writes = !read;
  like.first = like.data_first = keeps_high(name) ? 2 : 0;
  const bool two = has_two_offsets(*inst.op), tid = has(name, "addtid");
  unsigned bytes = 4u * (read ? inst.dst.dwords / (two ? 2 : 1) : inst.src[1].dwords);
  if (has(name, "_i8") || has(name, "_u8") || has(name, "_b8")) bytes = 1;
  if (has(name, "_i16") || has(name, "_u16") || has(name, "_b16")) bytes = 2;
  const unsigned unit = two ? bytes * (has(name, "st64") ? 64 : 1) : 1;
  const std::uint32_t* base = tid ? nullptr : lds_row(wave, inst.src[0], 0);
  for (unsigned which = 0; which < (two ? 2u : 1u); ++which) {
    if (like.writes) like.data = inst.src[1 + which];
    TouchedPart& part = add(found, like, wave.exec());
    const std::uint32_t offset = (which == 0 ? static_cast<std::uint32_t>(inst.offset) : inst.offset1) * unit;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      part.at[lane] = (base != nullptr ? base[lane] : (wave.s[kM0] & 0xffff) + 4 * lane) + offset;
      part.bytes[lane] = static_cast<std::uint8_t>(bytes);
    }
    like.first += bytes;
  }
}

}  // namespace

void touched_by(const Wave& wave, const Inst& inst, Touched& found) noexcept {
  found.count = 0;
  switch (inst.op->format) {
    case Format::ds: return lds(wave, inst, found);
    case Format::mubuf:
    case Format::global:
    case Format::flat: return vector_memory(wave, inst, found);
    default: return;
  }
}

}  // namespace ckgen::emu
