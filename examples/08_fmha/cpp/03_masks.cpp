// Masks are windows beside a diagonal, which ends at the last key or starts at the first one.
#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words, {"host", 2, 4, 2, 40, 56});
  const Gallery gallery(asked);
  const auto top_left = ckgen::FmhaCorner::top_left;
  const struct {
    const char* what;
    ckgen::FmhaBuilder problem;
  } masks[] = {
      {"causal, to the last key", said(asked, DType::bf16).causal()},
      {"causal, from the first key", said(asked, DType::bf16).causal(top_left)},
      {"the 16 keys before", said(asked, DType::bf16).window(16, 0)},
      {"5 keys on either side", said(asked, DType::bf16).window(5, 5, top_left)},
      {"8 keys before, and the first 4", said(asked, DType::bf16).window(8, 0).sink_tokens(4)},
  };
  int wrong = 0;
  for (const auto& one : masks) {
    const ckgen::Problem problem = Gallery::need(one.problem.build());
    const Operands x(problem);
    wrong |= gallery.check(one.what, problem, x.args);
  }
  return wrong;
}
