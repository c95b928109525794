// A library as the generator would emit it, small enough to read: one table of each kind, a heuristic, defaults.
#pragma once

#include <cstdint>
#include <initializer_list>

#include <ckgen/ckgen.hpp>

namespace tiny {

using namespace ckgen;
using namespace ckgen::describe;

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

enum : std::uint16_t { kSmall, kMedium, kAtomic };

inline constexpr InstanceDesc instances[] = {
    instance("tiny_small", 1, fp16, {16, 64, 32}, {0, 0, 0, 0, 0, 8, false}),
    instance("tiny_medium", 2, fp16, {128, 128, 64}, {0, 0, 64, 64, 64, 4, false}),
    instance("tiny_atomic", 3, fp16, {256, 256, 64}, {0, 256, 64, 64, 0, 16, true}, kArchs, 2),
};

inline constexpr LadderPolicy policy = ladder_policy().near_add(16).near_factor(2);
enum External : std::uint16_t { kExtA, kExtB };
inline constexpr ExternalKernel externals[] = {{"asm", "ext_a"}, {"flydsl", "ext_b"}};

// gfx942:304, N=1024 K=2048: 16, 32, 48, 64 small; 128 medium; 2048 atomic; external at 96 and 4096.
// N=1000 K=2048: the atomic instance's N is wrong there.
inline constexpr Rung n1024[] = {rung(16, 64, 16, kSmall), rung(128, kMedium, k_batch(2)),
                                 rung(2048, kAtomic, k_batch(4))};
inline constexpr Rung n1024_external[] = {rung(96, kExtA), rung(4096, kExtB)};
inline constexpr Rung n1000[] = {rung(64, kAtomic, k_batch(4))};
inline constexpr Group groups304[] = {with_external<n1024_external>(ladder<n1024>(1024, 2048)),
                                      ladder<n1000>(1000, 2048)};
inline constexpr auto slots304 = slots_of(groups304);
inline constexpr LookupTable table304 = lookup_table(Arch::gfx942, 304, policy, groups304, slots304, externals);

// gfx942:80 and gfx942:228, N=512 K=8192: at M=16 the kernel decides about its splits.
inline constexpr Rung rungs80[] = {rung(16, kMedium, k_batch(0))};
inline constexpr Rung rungs228[] = {rung(64, kSmall)};
inline constexpr Group groups80[] = {ladder<rungs80>(512, 8192)};
inline constexpr Group groups228[] = {ladder<rungs228>(512, 8192)};
inline constexpr auto slots80 = slots_of(groups80);
inline constexpr auto slots228 = slots_of(groups228);
inline constexpr LookupTable table80 = lookup_table(Arch::gfx942, 80, policy, groups80, slots80);
inline constexpr LookupTable table228 = lookup_table(Arch::gfx942, 228, policy, groups228, slots228);
inline constexpr const LookupTable* tables[] = {&table304, &table80, &table228};

inline constexpr Choice leaves[] = {{kSmall, 1}};
inline constexpr DecisionNode few_rows[] = {{{Feature::m, Compare::le, 32}, 1, no_leaf},
                                            {{Feature::mn, Compare::lt, 8192}, describe::leaf(0), no_leaf}};
inline constexpr Heuristic heuristics[] = {describe::heuristic("tiny", Arch::gfx942, leaves, few_rows)};

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
