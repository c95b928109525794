// gfx950's matrix instructions over 8, 6 and 4 bits, with and without block scales.
//
// A lane holds 32 elements. Which k they are depends on the operand's format: those of 6 and 4 bits are consecutive,
// k = 32 * group + e with group = lane / M; those of 8 bits are two halves of 16, k = 16 * group + e and, from e = 16
// on, 16 * group + K / 2 + e - 16. Scales are by k whatever the format: lane i + M * (k / 32) holds the one of row i.
// Source: Composable Kernel's test of these instructions on hardware (test/mx_mfma_op/mx_mfma_op.hpp, "Register
// Mapping", with scales); AMD's "Matrix Core Programming on CDNA3 and CDNA4" and AITER's op_tests load 8 bits alike.
#include <string>

#include "float_env.hpp"
#include "formats.hpp"
#include "lanes.hpp"
#include "launch.hpp"
#include "matrix.hpp"

namespace ckgen::emu {
namespace {

constexpr unsigned kPerLane = 32;
constexpr unsigned kRun = 16;  // consecutive k in a lane, of every format

/// Offset in LaneElements of k = 16 * run.
template <unsigned M>
constexpr std::uint16_t run_at(unsigned run, bool halves) noexcept {
  constexpr unsigned groups = kLanes / M;
  const unsigned element = halves ? run / groups * kRun : run % 2 * kRun;
  const unsigned group = halves ? run % groups : run / 2;
  return static_cast<std::uint16_t>(element * kLanes + group * M);
}

template <unsigned M>
constexpr KOrder order_of(bool a_halves, bool b_halves) noexcept {
  KOrder order{{}, kPerLane * kLanes / M / kRun, kRun};
  for (unsigned run = 0; run < order.count; ++run)
    order.runs[run] = {run_at<M>(run, a_halves), run_at<M>(run, b_halves)};
  return order;
}

template <unsigned M>
constexpr KOrder kOrders[2][2] = {{order_of<M>(false, false), order_of<M>(false, true)},
                                  {order_of<M>(true, false), order_of<M>(true, true)}};

constexpr unsigned kFormats8To4 = 5;

constexpr bool halves(unsigned format) noexcept {
  return format < 2;
}

/// Byte op_sel + 2 * op_sel_hi of the operand's scale register, as a factor.
void read_scales(const Wave& wave, const Inst& inst, unsigned operand, float (&scales)[kLanes]) noexcept {
  const unsigned byte = (inst.op_sel >> operand & 1u) + 2 * (inst.op_sel_hi >> operand & 1u);
  const Lanes source(wave, inst, inst.scale[operand], 0, 0);
  for (unsigned lane = 0; lane < kLanes; ++lane) scales[lane] = e8m0(source[lane] >> (8 * byte) & 0xff);
}

}  // namespace

template <unsigned M, bool Scaled>
void mfma_f8f6f4(Wave& wave, const Inst& inst) {
  if (inst.cbsz >= kFormats8To4 || inst.blgp >= kFormats8To4) {
    wave.launch->findings.add(
        Rule::bad_code, wave, inst, -1,
        "cbsz:" + std::to_string(inst.cbsz) + " blgp:" + std::to_string(inst.blgp) + ", formats are 0…4");
    wave.status = WaveStatus::ended;
    return;
  }
  const auto a_type = static_cast<Element>(inst.cbsz), b_type = static_cast<Element>(inst.blgp);
  const MatrixOperands operands(wave, inst, element_dwords(a_type, kPerLane), element_dwords(b_type, kPerLane),
                                M * M / kLanes);
  if (!operands.good()) return;
  const FloatScope scope(kNearest);
  LaneElements a, b;
  unpack(a_type, operands.a(), kPerLane, a);
  unpack(b_type, operands.b(), kPerLane, b);
  const KOrder& order = kOrders<M>[halves(inst.cbsz)][halves(inst.blgp)];
  if constexpr (Scaled) {
    alignas(64) float a_scales[kLanes], b_scales[kLanes];
    read_scales(wave, inst, 0, a_scales);
    read_scales(wave, inst, 1, b_scales);
    multiply_scaled(M, a, b, order, a_scales, b_scales, operands.c(), operands.d());
  } else {
    multiply_of(M, 1, false)(a, b, order, operands.c(), operands.d());
  }
}

template void mfma_f8f6f4<16, false>(Wave&, const Inst&);
template void mfma_f8f6f4<32, false>(Wave&, const Inst&);
template void mfma_f8f6f4<16, true>(Wave&, const Inst&);
template void mfma_f8f6f4<32, true>(Wave&, const Inst&);

}  // namespace ckgen::emu
