// Q, K and V in e4m3 with a descale each, O in bf16.
#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words, {"host", 2, 4, 4, 64, 64, 128, 128});
  const Gallery gallery(asked);
  // Plain fp8 is the device's own flavour: fnuz on gfx942, OCP on gfx950. This CPU has either: ours here is OCP.
  const DType fp8 = gallery.device.kind() == ckgen::DeviceKind::host ? DType::fp8_ocp : DType::fp8_fnuz;
  const ckgen::Problem problem =
      Gallery::need(said(asked, fp8).types(fp8, fp8, DType::bf16).quant(ckgen::FmhaQuant::per_tensor).build());
  Operands x(problem);
  const float q = 0.5F, k = 2, v = 0.25F;
  x.args.q_descale = &q, x.args.k_descale = &k, x.args.v_descale = &v;
  const int wrong = gallery.check("e4m3 with descales", problem, x.args);
  const auto without = said(asked, fp8).types(fp8, fp8, DType::bf16).build();
  std::printf("refused: %s\n", without.status().message);
  return wrong | expect("8 bits have descales", !without);
}
