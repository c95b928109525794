// Loads from memory straight to LDS.
#include "vector_memory.hpp"

#include "lanes.hpp"
#include "lds_dma.hpp"

namespace ckgen::emu {
namespace {

/// What a lane writes to LDS: whole dwords; out of range, zeros.
template <bool Checked>
void deliver(Wave& wave, const Inst& inst, const LaneAccess& access, LaneMask exec, unsigned bytes, bool extend,
             const Issued& issued) {
  // LDS_ADDR = LDS base + M0 + immediate + lane * size (CDNA3 ISA, 9.1.9 "Memory buffer load to LDS"); M0 has as many
  // bits as LDS needs.
  const std::uint32_t bits = wave.launch->chip.lds_bytes > 65536 ? 0x3ffff : 0xffff;
  const std::uint32_t start = (wave.s[kM0] & bits) + static_cast<std::uint32_t>(inst.offset);
  LdsDelivery delivery;
  delivery.lanes = exec;
  delivery.bytes = bytes < 4 ? 4 : bytes;
  for (unsigned lane = 0; lane < kLanes; ++lane) delivery.at[lane] = start + lane * delivery.bytes;
  for_each_lane(exec, [&](unsigned lane) {
    std::uint8_t* data = delivery.data[lane];
    std::memset(data, 0, sizeof delivery.data[lane]);
    const auto* from = reinterpret_cast<const std::uint8_t*>(access.address[lane]);
    if ((access.lanes >> lane & 1) != 0) {
      std::memcpy(data, from, bytes);
      if (extend && (data[bytes - 1] & 0x80) != 0) std::memset(data + bytes, 0xff, delivery.bytes - bytes);
    } else if ((access.partial >> lane & 1) != 0) {
      std::memcpy(data, from, 4u * access.dwords[lane]);
    }
  });
  lds_dma_write(wave, inst, delivery, issued.vm);
  wave.group->stats.global_read += bytes * static_cast<unsigned>(std::popcount(access.lanes));
}

/// Dword loads need dwords; the rest is as the memory system takes it.
template <bool Checked>
void admit_and_deliver(Wave& wave, const Inst& inst, LaneAccess& access, unsigned bytes, bool extend,
                       const Issued& issued) {
  const LaneMask exec = wave.exec();
  require_alignment(wave, inst, access, bytes < 4 ? bytes : 4);
  admit<Checked>(wave, inst, access, bytes, {inst.sc1 ? Access::scoped_load : Access::load, issued.vm, nullptr, 0});
  deliver<Checked>(wave, inst, access, exec, bytes, extend, issued);
  if constexpr (Checked) {
    if (inst.sc1) wave.launch->order.pick_up(wave, access.address, access.lanes, issued.vm);
  }
}

template <unsigned Bytes, bool Extend, bool Checked>
void global_load_lds(Wave& wave, const Inst& inst) {
  const Issued issued = issue<Space::global>(wave);
  if (wave.exec() == 0) return;
  LaneAccess access;
  global_addresses(wave, inst, access);
  admit_and_deliver<Checked>(wave, inst, access, Bytes, Extend, issued);
}

template <unsigned Bytes, bool Extend, bool Checked>
void scratch_load_lds(Wave& wave, const Inst& inst) {
  const Issued issued = issue<Space::scratch>(wave);
  const LaneMask exec = wave.exec();
  if (exec == 0) return;
  LaneAccess access;
  alignas(64) std::uint32_t offset[kLanes];
  scratch_offsets(wave, inst, offset);
  admit_scratch<Checked>(wave, inst, access, offset, exec, Bytes, Access::load);
  deliver<Checked>(wave, inst, access, exec, Bytes, Extend, issued);
}

#define CKGEN_LDS(F, name, bytes, extend) {name, F<bytes, extend, false>, F<bytes, extend, true>, 0}

constexpr Semantics kTable[] = {
    CKGEN_LDS(global_load_lds, "global_load_lds_ubyte", 1, false),
    CKGEN_LDS(global_load_lds, "global_load_lds_sbyte", 1, true),
    CKGEN_LDS(global_load_lds, "global_load_lds_ushort", 2, false),
    CKGEN_LDS(global_load_lds, "global_load_lds_sshort", 2, true),
    CKGEN_LDS(global_load_lds, "global_load_lds_dword", 4, false),
    CKGEN_LDS(global_load_lds, "global_load_lds_dwordx3", 12, false),
    CKGEN_LDS(global_load_lds, "global_load_lds_dwordx4", 16, false),
    CKGEN_LDS(scratch_load_lds, "scratch_load_lds_ubyte", 1, false),
    CKGEN_LDS(scratch_load_lds, "scratch_load_lds_sbyte", 1, true),
    CKGEN_LDS(scratch_load_lds, "scratch_load_lds_ushort", 2, false),
    CKGEN_LDS(scratch_load_lds, "scratch_load_lds_sshort", 2, true),
    CKGEN_LDS(scratch_load_lds, "scratch_load_lds_dword", 4, false),
};

#undef CKGEN_LDS

}  // namespace

std::span<const Semantics> lds_load_semantics() noexcept {
  return kTable;
}

template <bool Checked>
void buffer_load_lds(Wave& wave, const Inst& inst, unsigned bytes, bool extend) {
  const Issued issued = issue<Space::buffer>(wave);
  if (wave.exec() == 0) return;
  LaneAccess access;
  const Resource resource = resource_of(wave, inst);
  if (in_scratch_pool(resource.base)) return refuse_scratch_buffer(wave, inst);
  buffer_addresses(wave, inst, resource, bytes, bytes >= 4, 0, access);
  if (resource.swizzled && resource.stride != 0 && bytes > 4) {
    wave.launch->findings.add(Rule::unsupported, wave, inst, -1,
                              "loads of several dwords to LDS from a swizzled buffer are not executed");
    return;
  }
  admit_and_deliver<Checked>(wave, inst, access, bytes, extend, issued);
}

template void buffer_load_lds<false>(Wave&, const Inst&, unsigned, bool);
template void buffer_load_lds<true>(Wave&, const Inst&, unsigned, bool);

}  // namespace ckgen::emu
