// A library as the generator would emit it, small enough to read: one table of each kind, a heuristic, defaults.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include <ckgen/ckgen.hpp>

namespace tiny {

using namespace ckgen;

constexpr std::uint32_t bit(Arch arch) {
  return 1U << static_cast<unsigned>(arch);
}
constexpr std::uint32_t kArchs = bit(Arch::gfx942) | bit(Arch::gfx950) | bit(Arch::x86_64_v3);

constexpr Signature fp16{Op::gemm, DType::fp16, DType::fp16, DType::fp16, DType::fp32, DType::none};

constexpr InstanceDesc instance(const char* name, std::uint64_t id, Signature signature, Tile tile,
                                Constraints constraints, std::uint32_t archs = kArchs, int k_batch_mode = 1) {
  return {name,
          id,
          signature,
          Backend::ck_tile,
          archs,
          "",
          tile,
          constraints,
          {tile.m, tile.n, tile.k, k_batch_mode, true, true, true},
          {},
          gemm_twin_workspace_of,
          nullptr,
          launch_gemm_twin,
          nullptr};
}

/// The generator's slots for groups: open addressing at a load of at most one half.
template <std::size_t Size, std::size_t Count>
constexpr std::array<std::uint16_t, Size> slots_of(const Group (&groups)[Count]) {
  static_assert(Size >= 2 * Count && (Size & (Size - 1)) == 0);
  std::array<std::uint16_t, Size> slots{};
  for (std::size_t i = 0; i < Count; ++i) {
    std::size_t slot = group_slot(groups[i].n, groups[i].k, groups[i].batch, Size - 1);
    while (slots[slot] != 0) slot = (slot + 1) & (Size - 1);
    slots[slot] = static_cast<std::uint16_t>(i + 1);
  }
  return slots;
}

enum : std::uint16_t { kSmall, kMedium, kAtomic };

inline constexpr InstanceDesc instances[] = {
    instance("tiny_small", 1, fp16, {16, 64, 32}, {0, 0, 0, 0, 0, 8, false}),
    instance("tiny_medium", 2, fp16, {128, 128, 64}, {0, 0, 64, 64, 64, 4, false}),
    instance("tiny_atomic", 3, fp16, {256, 256, 64}, {0, 256, 64, 64, 0, 16, true}, kArchs, 2),
};

inline constexpr LadderPolicy policy{16, 2, nullptr, 0, nullptr, 0};
inline constexpr ExternalKernel externals[] = {{"asm", "ext_a"}, {"flydsl", "ext_b"}};
inline constexpr Choice choices[] = {{kSmall, 1}, {kMedium, 2}, {kAtomic, 4}, {kMedium, 0}};

// gfx942:304, N=1024 K=2048: 16, 32, 48, 64 small; 128 medium; 2048 atomic; external at 96 and 4096.
// N=1000 K=2048: the atomic instance's N is wrong there.
inline constexpr Rung rungs304[] = {{16, 64, 16, 0}, {128, 128, 1, 1}, {2048, 2048, 1, 2}, {64, 64, 1, 2}};
inline constexpr Rung external304[] = {{96, 96, 1, 0}, {4096, 4096, 1, 1}};
inline constexpr Group groups304[] = {{1024, 2048, 0, 0, 3, 2, 0}, {1000, 2048, 0, 3, 1, 0, 0}};
inline constexpr auto slots304 = slots_of<4>(groups304);
inline constexpr LookupTable table304{fp16.pack(), Arch::gfx942, 304,         slots304.data(), 3, groups304, 2,
                                      rungs304,    choices,      external304, externals,       2, &policy};

// gfx942:80 and gfx942:228, N=512 K=8192: at M=16 the kernel decides about its splits.
inline constexpr Rung rungs80[] = {{16, 16, 1, 3}};
inline constexpr Rung rungs228[] = {{64, 64, 1, 0}};
inline constexpr Group groups512[] = {{512, 8192, 0, 0, 1, 0, 0}};
inline constexpr auto slots512 = slots_of<2>(groups512);
inline constexpr LookupTable table80{fp16.pack(), Arch::gfx942, 80,      slots512.data(), 1, groups512, 1,
                                     rungs80,     choices,      nullptr, nullptr,         0, &policy};
inline constexpr LookupTable table228{fp16.pack(), Arch::gfx942, 228,     slots512.data(), 1, groups512, 1,
                                      rungs228,    choices,      nullptr, nullptr,         0, &policy};
inline constexpr const LookupTable* tables[] = {&table304, &table80, &table228};

inline constexpr Condition few_rows[] = {{Feature::m, Compare::le, 32}, {Feature::mn, Compare::lt, 8192}};
inline constexpr Arm arms[] = {{few_rows, 2, {kSmall, 1}}};
inline constexpr Heuristic heuristics[] = {{"tiny", Arch::gfx942, arms, 1}};

inline constexpr std::uint16_t defaults942[] = {kAtomic, kMedium, kSmall};
inline constexpr std::uint16_t defaults_cpu[] = {kSmall};
inline constexpr Defaults defaults[] = {{Arch::gfx942, defaults942, 3}, {Arch::x86_64_v3, defaults_cpu, 1}};

inline constexpr SignatureUnit unit{"gemm_fp16_rcr", fp16, instances, 3, tables, 3, heuristics, 1, defaults, 2};

// fp8 with block scales, of both flavours: one default each.
constexpr Signature blockscale(DType fp8) {
  return {Op::gemm, fp8, fp8, DType::bf16, DType::fp32, DType::fp32, Layout::rcr, Quant::blockscale};
}
inline constexpr InstanceDesc fnuz_instances[] = {
    instance("tiny_fnuz", 4, blockscale(DType::fp8_fnuz), {64, 128, 128}, {0, 0, 0, 0, 0, 1, false})};
inline constexpr InstanceDesc ocp_instances[] = {
    instance("tiny_ocp", 5, blockscale(DType::fp8_ocp), {64, 128, 128}, {0, 0, 0, 0, 0, 1, false})};
inline constexpr std::uint16_t first[] = {0};
inline constexpr Defaults fnuz_defaults[] = {{Arch::gfx942, first, 1}};
inline constexpr Defaults ocp_defaults[] = {{Arch::gfx950, first, 1}};
inline constexpr SignatureUnit fnuz_unit{"gemm_fp8_fnuz_bf16_rcr_blockscale",
                                         blockscale(DType::fp8_fnuz),
                                         fnuz_instances,
                                         1,
                                         nullptr,
                                         0,
                                         nullptr,
                                         0,
                                         fnuz_defaults,
                                         1};
inline constexpr SignatureUnit ocp_unit{"gemm_fp8_ocp_bf16_rcr_blockscale",
                                        blockscale(DType::fp8_ocp),
                                        ocp_instances,
                                        1,
                                        nullptr,
                                        0,
                                        nullptr,
                                        0,
                                        ocp_defaults,
                                        1};

inline constexpr const SignatureUnit* units[] = {&unit, &fnuz_unit, &ocp_unit};
inline constexpr Library library{"tiny", CKGEN_RUNTIME_ABI, 0x1234, units, 3};

inline Registry registry() {
  Registry filled;
  static_cast<void>(filled.add(library));
  return filled;
}

inline Problem problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  return Problem(fp16).shape(m, n, k);
}

}  // namespace tiny
