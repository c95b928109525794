// Scores are capped smoothly: softcap * tanh(S / softcap), as Gemma 2 has it.
#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words);
  const Gallery gallery(asked);
  const ckgen::Problem problem = Gallery::need(said(asked, DType::bf16).causal().softcap().build());
  Operands x(problem);
  int wrong = 0;
  for (const float cap : {0.5F, 50.0F}) {
    x.args.softcap = cap;  // the number is an argument: one plan serves all
    wrong |= gallery.check(cap < 1 ? "capped at 0.5" : "capped at 50", problem, x.args);
  }
  const auto both = said(asked, DType::bf16).softcap().bias().build();
  std::printf("refused: %s\n", both.status().message);
  return wrong | expect("no softcap beside a bias", !both);
}
