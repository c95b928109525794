// Scalar loads, stores and the scalar cache. Source: CDNA3 ISA, chapter 8 "Scalar memory operations"; that gfx942 and
// gfx950 have stores to addresses is LLVM's word (22.1.8 assembles them) and a production kernel's, which uses them.
#include <string>

#include "lane_access.hpp"
#include "lanes.hpp"
#include "semantics.hpp"

namespace ckgen::emu {
namespace {

/// Its number in lgkmcnt; its SGPRs are on their way until a wait for all.
template <bool Checked>
void issue(Wave& wave, const Inst& inst) {
  const std::uint32_t number = wave.waits.last_scalar = wave.waits.issue_lgkm();
  if constexpr (!Checked) return;
  for (unsigned part = 0; part < inst.dst.dwords && inst.dst.code + part < kConstants; ++part) {
    wave.shadow.scalar_lgkm[inst.dst.code + part] = number;
  }
}

std::int64_t offset_of(const Wave& wave, const Inst& inst) {
  const std::uint32_t scalar = inst.soffset.present() ? scalar_value(wave, inst, inst.soffset) : 0;
  return std::int64_t{inst.offset} + scalar;
}

/// `dwords` dwords from `address` on; those at and beyond `limit` bytes are out of a buffer's range and read 0.
template <bool Checked>
void load_dwords(Wave& wave, const Inst& inst, std::uint64_t address, std::uint64_t limit) {
  Launch& launch = *wave.launch;
  if ((address & 3) != 0) {
    launch.findings.add(
        Rule::misaligned, wave, inst, -1,
        "scalar loads take dwords; the two low bits of " + launch.memory.place(address, 4) + " are ignored");
    address &= ~std::uint64_t{3};
  }
  std::uint32_t values[16] = {};
  const unsigned dwords = inst.dst.dwords;
  const unsigned there = limit >= 4 * dwords ? dwords : static_cast<unsigned>(limit / 4);
  bool outside = false, unwritten = false;
  Allocation* whole = there == 0 ? nullptr : launch.memory.find(address, 4 * there);
  if (!Checked && whole != nullptr) {
    std::memcpy(values, reinterpret_cast<const void*>(address), 4 * there);
  } else {
    for (unsigned part = 0; part < there; ++part) {
      const std::uint64_t at = address + 4 * part;
      Allocation* one = whole != nullptr ? whole : launch.memory.find(at, 4);
      if (one == nullptr) {
        if (!outside) launch.findings.add(Rule::out_of_bounds, wave, inst, -1, "read: " + launch.memory.place(at, 4));
        outside = true;
        continue;
      }
      if constexpr (Checked) {
        if (!unwritten && one->written_bytes(at, 4) != 4) {
          unwritten = true;
          launch.findings.add(Rule::uninitialised, wave, inst, -1, "nothing has written " + launch.memory.place(at, 4));
        }
        launch.order.scalar_load(wave, inst, *one, at);
      }
      std::memcpy(&values[part], reinterpret_cast<const void*>(at), 4);
    }
  }
  wave.group->stats.global_read += 4 * there;
  for (unsigned part = 0; part < dwords && inst.dst.code + part < kConstants; ++part) {
    wave.s[inst.dst.code + part] = values[part];
  }
}

template <bool Checked>
void load(Wave& wave, const Inst& inst) {
  const std::uint64_t base = scalar_value64(wave, inst, inst.base);
  const std::uint64_t address = base + static_cast<std::uint64_t>(offset_of(wave, inst));
  issue<Checked>(wave, inst);
  load_dwords<Checked>(wave, inst, address, ~std::uint64_t{0});
}

/// The range is NUM_RECORDS records of STRIDE bytes, of 1 byte if that is 0; checked per dword.
template <bool Checked>
void buffer_load(Wave& wave, const Inst& inst) {
  std::uint32_t word[3];
  for (unsigned i = 0; i < 3; ++i) word[i] = scalar_value(wave, inst, inst.base, i);
  const std::uint64_t base = word[0] | static_cast<std::uint64_t>(word[1] & 0xffff) << 32;
  const std::uint32_t stride = word[1] >> 16 & 0x3fff;
  const std::uint64_t size = std::uint64_t{word[2]} * (stride == 0 ? 1 : stride);
  const std::int64_t offset = offset_of(wave, inst);
  issue<Checked>(wave, inst);
  const bool inside = offset >= 0 && static_cast<std::uint64_t>(offset) < size;
  const std::uint64_t at = inside ? static_cast<std::uint64_t>(offset) : 0;
  load_dwords<Checked>(wave, inst, base + at, inside ? size - at : 0);
}

template <bool Checked>
void invalidate(Wave& wave, const Inst& inst) {
  issue<Checked>(wave, inst);
  if constexpr (Checked) wave.launch->order.scalar_invalidate(wave);
}

template <bool Checked>
void write_back(Wave& wave, const Inst& inst) {
  issue<Checked>(wave, inst);
}

void put64(Wave& wave, const Inst& inst, std::uint64_t value) {
  wave.s[inst.dst.code] = static_cast<std::uint32_t>(value);
  if (inst.dst.code + 1u < kConstants) wave.s[inst.dst.code + 1u] = static_cast<std::uint32_t>(value >> 32);
}

/// A clock that moves with the wave's instructions, so that runs repeat exactly; four cycles each.
template <bool Checked>
void memtime(Wave& wave, const Inst& inst) {
  issue<Checked>(wave, inst);
  put64(wave, inst, 4 * (wave.executed + 1));
}

/// The constant clock of 100 MHz against a wave that runs at some 2 GHz.
template <bool Checked>
void memrealtime(Wave& wave, const Inst& inst) {
  issue<Checked>(wave, inst);
  put64(wave, inst, (wave.executed + 1) / 5);
}

/// Seen by everybody at once; that a plain one stays in the scalar cache until s_dcache_wb is not modelled.
template <bool Checked>
void store(Wave& wave, const Inst& inst) {
  Launch& launch = *wave.launch;
  const std::uint64_t base = scalar_value64(wave, inst, inst.base);
  const std::uint64_t address = (base + static_cast<std::uint64_t>(offset_of(wave, inst))) & ~std::uint64_t{3};
  issue<Checked>(wave, inst);
  const unsigned dwords = inst.src[1].dwords;
  Allocation* one = launch.memory.find(address, 4 * dwords);
  if (one == nullptr || !one->writable) {
    launch.findings.add(Rule::out_of_bounds, wave, inst, -1, "written: " + launch.memory.place(address, 4 * dwords));
    return;
  }
  for (unsigned part = 0; part < dwords; ++part) {
    const std::uint32_t value = scalar_value(wave, inst, inst.src[1], part);
    std::memcpy(reinterpret_cast<void*>(address + 4 * part), &value, 4);
  }
  one->mark_written(address, 4 * dwords);
  wave.group->stats.global_written += 4 * dwords;
}

void buffer_store(Wave& wave, const Inst& inst) {
  wave.launch->findings.add(Rule::unsupported, wave, inst, -1, "scalar stores to buffers are not executed");
}

#define CKGEN_LOAD(name, kind) {name, kind<false>, kind<true>, 0}
#define CKGEN_STORE(name) {name, buffer_store, buffer_store, kRefused}

constexpr Semantics kTable[] = {
    CKGEN_LOAD("s_load_dword", load),
    CKGEN_LOAD("s_load_dwordx2", load),
    CKGEN_LOAD("s_load_dwordx4", load),
    CKGEN_LOAD("s_load_dwordx8", load),
    CKGEN_LOAD("s_load_dwordx16", load),
    CKGEN_LOAD("s_buffer_load_dword", buffer_load),
    CKGEN_LOAD("s_buffer_load_dwordx2", buffer_load),
    CKGEN_LOAD("s_buffer_load_dwordx4", buffer_load),
    CKGEN_LOAD("s_buffer_load_dwordx8", buffer_load),
    CKGEN_LOAD("s_buffer_load_dwordx16", buffer_load),
    CKGEN_LOAD("s_dcache_inv", invalidate),
    CKGEN_LOAD("s_dcache_inv_vol", invalidate),
    CKGEN_LOAD("s_dcache_wb", write_back),
    CKGEN_LOAD("s_dcache_wb_vol", write_back),
    CKGEN_LOAD("s_memtime", memtime),
    CKGEN_LOAD("s_memrealtime", memrealtime),
    CKGEN_LOAD("s_store_dword", store),
    CKGEN_LOAD("s_store_dwordx2", store),
    CKGEN_LOAD("s_store_dwordx4", store),
    CKGEN_STORE("s_buffer_store_dword"),
    CKGEN_STORE("s_buffer_store_dwordx2"),
    CKGEN_STORE("s_buffer_store_dwordx4"),
};

#undef CKGEN_LOAD
#undef CKGEN_STORE

}  // namespace

std::span<const Semantics> scalar_memory_semantics() noexcept {
  return kTable;
}

}  // namespace ckgen::emu
