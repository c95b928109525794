// Grouped and multi query attention: query heads share KV heads, which nobody repeats in memory.
#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words, {"host", 2, 8, 2});
  const Gallery gallery(asked);
  int wrong = 0;
  for (const std::int32_t shared : {asked.heads_k, 1}) {
    const ckgen::Problem problem = Gallery::need(said(asked, DType::bf16).heads(asked.heads_q, shared).build());
    const Operands x(problem);
    wrong |= gallery.check(shared == 1 ? "one KV head" : "groups of heads", problem, x.args);
  }
  // What cannot be shared is refused where the problem is said, not where it runs.
  const auto uneven = said(asked, DType::bf16).heads(7, 2).build();
  std::printf("refused: %s\n", uneven.status().message);
  return wrong | expect("7 heads do not share 2", !uneven);
}
