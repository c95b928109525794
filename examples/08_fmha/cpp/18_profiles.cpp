// A profile says what a library has (gallery.yaml is this one's): what it leaves out is refused with the reason.
#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words);
  const Gallery gallery(asked);
  int wrong = 0;
  for (std::uint32_t i = 0; i < gallery.registry.size(); ++i) {
    const ckgen::InstanceDesc& one = gallery.registry.instance(i);
    if (one.signature.fmha.v_column || one.backend == ckgen::Backend::asm_) wrong |= expect(one.name, false);
  }
  const ckgen::Problem kept = Gallery::need(said(asked, DType::fp16).causal().build());
  const Operands x(kept);
  wrong |= gallery.check("kept", kept, x.args);
  const ckgen::Problem left_out = Gallery::need(said(asked, DType::bf16).v_column().build());
  const auto plan = gallery.dispatcher.plan(left_out, gallery.device);
  std::printf("refused: %s\n", plan.status().message);
  return wrong | expect("V by columns is left out", !plan);
}
