// One problem: said, planned, run, and held against the definition.
#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words);
  const Gallery gallery(asked);
  const ckgen::Problem problem = Gallery::need(said(asked, DType::bf16).build());
  const Operands x(problem);
  return gallery.check("O = softmax(scale Q K^T) V", problem, x.args);
}
