// The matrix instructions: their shapes, the broadcast controls of the older ones, and the table of all.
#include "matrix.hpp"

#include <algorithm>
#include <string>

#include "float_env.hpp"
#include "launch.hpp"
#include "semantics.hpp"

namespace ckgen::emu {
namespace {

struct Shape {
  std::uint8_t m, blocks, per_lane;  // M = N; elements of A, and of B, in a lane
  Element a, b;

  constexpr bool integer() const noexcept { return a == Element::i8; }
  constexpr bool flushed_on_cdna2() const noexcept { return a == Element::f16 || a == Element::bf16; }
  constexpr KOrder order() const noexcept {
    KOrder order{{}, 64u / (m * blocks), per_lane};
    for (unsigned group = 0; group < order.count; ++group) {
      const auto lane = static_cast<std::uint16_t>(group * m * blocks);
      order.runs[group] = {lane, lane};
    }
    return order;
  }
};

void refuse(Wave& wave, const Inst& inst, std::string what) noexcept {
  wave.launch->findings.add(Rule::unsupported, wave, inst, -1, std::move(what));
  wave.status = WaveStatus::ended;
}

template <class Source>
void move_lanes(LaneElements& elements, unsigned count, const Source& source) noexcept {
  for (unsigned e = 0; e < count; ++e) {
    float from[kLanes];
    std::copy_n(elements.at[e], kLanes, from);
    for (unsigned lane = 0; lane < kLanes; ++lane) elements.at[e][lane] = from[source(lane)];
  }
}

/// cbsz, abid: groups of 2^cbsz blocks of A all take the group's block `abid`. Source: as matrix.hpp.
void broadcast_block(LaneElements& a, const Shape& shape, unsigned cbsz, unsigned abid) noexcept {
  move_lanes(a, shape.per_lane, [&](unsigned lane) {
    const unsigned block = lane / shape.m % shape.blocks;
    const unsigned from = (block >> cbsz << cbsz) + abid;
    return lane - block * shape.m + from * shape.m;
  });
}

/// blgp: 1, 2 broadcast a half of B's lanes, 3 rotates by 16 lanes, 4…7 broadcast a quarter. Source: as matrix.hpp.
void permute_lanes(LaneElements& b, unsigned count, unsigned blgp) noexcept {
  move_lanes(b, count, [&](unsigned lane) {
    if (blgp == 3) return (lane + 16) % kLanes;
    return blgp < 3 ? lane % 32 + 32 * (blgp - 1) : lane % 16 + 16 * (blgp - 4);
  });
}

Element on_chip(Element type, const Wave& wave) noexcept {
  if (!wave.launch->chip.processor.fnuz) return type;
  return type == Element::fp8 ? Element::fp8_fnuz : type == Element::bf8 ? Element::bf8_fnuz : type;
}

void execute(Wave& wave, const Inst& inst, const Shape& shape, const KOrder& order, Multiply multiply) noexcept {
  const unsigned results = shape.m * shape.m * shape.blocks / kLanes;
  const MatrixOperands operands(wave, inst, element_dwords(shape.a, shape.per_lane),
                                element_dwords(shape.b, shape.per_lane), results);
  if (!operands.good()) return;
  if ((1u << inst.cbsz) > shape.blocks || inst.abid >> inst.cbsz != 0) {
    return refuse(wave, inst,
                  "cbsz:" + std::to_string(inst.cbsz) + " abid:" + std::to_string(inst.abid) + " with " +
                      std::to_string(shape.blocks) + " blocks");
  }
  const bool flush = shape.flushed_on_cdna2() && wave.launch->chip.processor.isa == Isa::cdna2;
  const FloatScope scope(flush ? kNearestFlushed : kNearest);
  LaneElements a, b;
  unpack(on_chip(shape.a, wave), operands.a(), shape.per_lane, a);
  unpack(on_chip(shape.b, wave), operands.b(), shape.per_lane, b);
  if (inst.cbsz != 0) broadcast_block(a, shape, inst.cbsz, inst.abid);
  if (inst.blgp != 0) permute_lanes(b, shape.per_lane, inst.blgp);
  multiply(a, b, order, operands.c(), operands.d());
}

template <Shape S>
void mfma(Wave& wave, const Inst& inst) {
  static constexpr KOrder kOrder = S.order();
  static const Multiply kMultiply = multiply_of(S.m, S.blocks, S.integer());
  execute(wave, inst, S, kOrder, kMultiply);
}

void sparse(Wave& wave, const Inst& inst) {
  refuse(wave, inst, "sparse MFMA is not executed");
}

constexpr Semantics entry(std::string_view name, Handler handler) {
  return {name, handler, handler, kMatrix | kIgnoresExec};
}

constexpr Semantics refused(std::string_view name) {
  return {name, sparse, sparse, kMatrix | kIgnoresExec | kRefused};
}

template <unsigned M, unsigned Blocks, unsigned PerLane, Element A, Element B = A>
constexpr Semantics dense(std::string_view name) {
  return entry(name, mfma<Shape{M, Blocks, PerLane, A, B}>);
}

using enum Element;

// Names without an underscore before the type are gfx90a's.
constexpr Semantics kAll[] = {
    dense<32, 2, 1, f32>("v_mfma_f32_32x32x1_2b_f32"),
    dense<32, 2, 1, f32>("v_mfma_f32_32x32x1f32"),
    dense<16, 4, 1, f32>("v_mfma_f32_16x16x1_4b_f32"),
    dense<16, 4, 1, f32>("v_mfma_f32_16x16x1f32"),
    dense<4, 16, 1, f32>("v_mfma_f32_4x4x1_16b_f32"),
    dense<4, 16, 1, f32>("v_mfma_f32_4x4x1f32"),
    dense<32, 1, 1, f32>("v_mfma_f32_32x32x2_f32"),
    dense<32, 1, 1, f32>("v_mfma_f32_32x32x2f32"),
    dense<16, 1, 1, f32>("v_mfma_f32_16x16x4_f32"),
    dense<16, 1, 1, f32>("v_mfma_f32_16x16x4f32"),
    dense<16, 1, 2, xf32>("v_mfma_f32_16x16x8_xf32"),
    dense<32, 1, 2, xf32>("v_mfma_f32_32x32x4_xf32"),

    dense<32, 2, 4, f16>("v_mfma_f32_32x32x4_2b_f16"),
    dense<32, 2, 4, f16>("v_mfma_f32_32x32x4f16"),
    dense<16, 4, 4, f16>("v_mfma_f32_16x16x4_4b_f16"),
    dense<16, 4, 4, f16>("v_mfma_f32_16x16x4f16"),
    dense<4, 16, 4, f16>("v_mfma_f32_4x4x4_16b_f16"),
    dense<4, 16, 4, f16>("v_mfma_f32_4x4x4f16"),
    dense<32, 1, 4, f16>("v_mfma_f32_32x32x8_f16"),
    dense<32, 1, 4, f16>("v_mfma_f32_32x32x8f16"),
    dense<16, 1, 4, f16>("v_mfma_f32_16x16x16_f16"),
    dense<16, 1, 4, f16>("v_mfma_f32_16x16x16f16"),
    dense<32, 1, 8, f16>("v_mfma_f32_32x32x16_f16"),
    dense<16, 1, 8, f16>("v_mfma_f32_16x16x32_f16"),

    dense<32, 2, 4, bf16>("v_mfma_f32_32x32x4_2b_bf16"),
    dense<32, 2, 4, bf16>("v_mfma_f32_32x32x4bf16_1k"),
    dense<16, 4, 4, bf16>("v_mfma_f32_16x16x4_4b_bf16"),
    dense<16, 4, 4, bf16>("v_mfma_f32_16x16x4bf16_1k"),
    dense<4, 16, 4, bf16>("v_mfma_f32_4x4x4_16b_bf16"),
    dense<4, 16, 4, bf16>("v_mfma_f32_4x4x4bf16_1k"),
    dense<32, 1, 4, bf16>("v_mfma_f32_32x32x8_bf16"),
    dense<32, 1, 4, bf16>("v_mfma_f32_32x32x8bf16_1k"),
    dense<16, 1, 4, bf16>("v_mfma_f32_16x16x16_bf16"),
    dense<16, 1, 4, bf16>("v_mfma_f32_16x16x16bf16_1k"),
    dense<32, 2, 2, bf16>("v_mfma_f32_32x32x2bf16"),
    dense<16, 4, 2, bf16>("v_mfma_f32_16x16x2bf16"),
    dense<4, 16, 2, bf16>("v_mfma_f32_4x4x2bf16"),
    dense<32, 1, 2, bf16>("v_mfma_f32_32x32x4bf16"),
    dense<16, 1, 2, bf16>("v_mfma_f32_16x16x8bf16"),
    dense<32, 1, 8, bf16>("v_mfma_f32_32x32x16_bf16"),
    dense<16, 1, 8, bf16>("v_mfma_f32_16x16x32_bf16"),

    dense<32, 2, 4, i8>("v_mfma_i32_32x32x4_2b_i8"),
    dense<32, 2, 4, i8>("v_mfma_i32_32x32x4i8"),
    dense<16, 4, 4, i8>("v_mfma_i32_16x16x4_4b_i8"),
    dense<16, 4, 4, i8>("v_mfma_i32_16x16x4i8"),
    dense<4, 16, 4, i8>("v_mfma_i32_4x4x4_16b_i8"),
    dense<4, 16, 4, i8>("v_mfma_i32_4x4x4i8"),
    dense<32, 1, 4, i8>("v_mfma_i32_32x32x8i8"),
    dense<16, 1, 4, i8>("v_mfma_i32_16x16x16i8"),
    dense<32, 1, 8, i8>("v_mfma_i32_32x32x16_i8"),
    dense<16, 1, 8, i8>("v_mfma_i32_16x16x32_i8"),
    dense<32, 1, 16, i8>("v_mfma_i32_32x32x32_i8"),
    dense<16, 1, 16, i8>("v_mfma_i32_16x16x64_i8"),

    dense<16, 1, 8, bf8, bf8>("v_mfma_f32_16x16x32_bf8_bf8"),
    dense<16, 1, 8, bf8, fp8>("v_mfma_f32_16x16x32_bf8_fp8"),
    dense<16, 1, 8, fp8, bf8>("v_mfma_f32_16x16x32_fp8_bf8"),
    dense<16, 1, 8, fp8, fp8>("v_mfma_f32_16x16x32_fp8_fp8"),
    dense<32, 1, 8, bf8, bf8>("v_mfma_f32_32x32x16_bf8_bf8"),
    dense<32, 1, 8, bf8, fp8>("v_mfma_f32_32x32x16_bf8_fp8"),
    dense<32, 1, 8, fp8, bf8>("v_mfma_f32_32x32x16_fp8_bf8"),
    dense<32, 1, 8, fp8, fp8>("v_mfma_f32_32x32x16_fp8_fp8"),

    entry("v_mfma_f32_16x16x128_f8f6f4", mfma_f8f6f4<16, false>),
    entry("v_mfma_f32_32x32x64_f8f6f4", mfma_f8f6f4<32, false>),
    entry("v_mfma_scale_f32_16x16x128_f8f6f4", mfma_f8f6f4<16, true>),
    entry("v_mfma_scale_f32_32x32x64_f8f6f4", mfma_f8f6f4<32, true>),

    entry("v_mfma_f64_16x16x4_f64", mfma_f64_16x16x4),
    entry("v_mfma_f64_16x16x4f64", mfma_f64_16x16x4),
    entry("v_mfma_f64_4x4x4_4b_f64", mfma_f64_4x4x4),
    entry("v_mfma_f64_4x4x4f64", mfma_f64_4x4x4),

    refused("v_smfmac_f32_16x16x32_f16"),
    refused("v_smfmac_f32_32x32x16_f16"),
    refused("v_smfmac_f32_16x16x32_bf16"),
    refused("v_smfmac_f32_32x32x16_bf16"),
    refused("v_smfmac_i32_16x16x64_i8"),
    refused("v_smfmac_i32_32x32x32_i8"),
    refused("v_smfmac_f32_16x16x64_bf8_bf8"),
    refused("v_smfmac_f32_16x16x64_bf8_fp8"),
    refused("v_smfmac_f32_16x16x64_fp8_bf8"),
    refused("v_smfmac_f32_16x16x64_fp8_fp8"),
    refused("v_smfmac_f32_32x32x32_bf8_bf8"),
    refused("v_smfmac_f32_32x32x32_bf8_fp8"),
    refused("v_smfmac_f32_32x32x32_fp8_bf8"),
    refused("v_smfmac_f32_32x32x32_fp8_fp8"),
    refused("v_smfmac_f32_16x16x64_f16"),
    refused("v_smfmac_f32_32x32x32_f16"),
    refused("v_smfmac_f32_16x16x64_bf16"),
    refused("v_smfmac_f32_32x32x32_bf16"),
    refused("v_smfmac_i32_16x16x128_i8"),
    refused("v_smfmac_i32_32x32x64_i8"),
    refused("v_smfmac_f32_16x16x128_bf8_bf8"),
    refused("v_smfmac_f32_16x16x128_bf8_fp8"),
    refused("v_smfmac_f32_16x16x128_fp8_bf8"),
    refused("v_smfmac_f32_16x16x128_fp8_fp8"),
    refused("v_smfmac_f32_32x32x64_bf8_bf8"),
    refused("v_smfmac_f32_32x32x64_bf8_fp8"),
    refused("v_smfmac_f32_32x32x64_fp8_bf8"),
    refused("v_smfmac_f32_32x32x64_fp8_fp8"),
};

}  // namespace

std::span<const Semantics> matrix_semantics() noexcept {
  return kAll;
}

}  // namespace ckgen::emu
