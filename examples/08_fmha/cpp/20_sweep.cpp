// Lengths from one to many, whole tiles and not: each is planned, run and checked.
#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words, {"host", 1, 2, 1, 70, 130});
  const Gallery gallery(asked);
  int wrong = 0;
  for (const std::int64_t q : {std::int64_t{1}, std::int64_t{4}, std::int64_t{13}, asked.seqlen_q})
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{7}, std::int64_t{63}, asked.seqlen_k}) {
      Asked one = asked;
      one.seqlen_q = q, one.seqlen_k = k;
      const ckgen::Problem problem = Gallery::need(said(one, DType::bf16).causal().build());
      const Operands x(problem);
      std::printf("%3lld x %3lld  ", static_cast<long long>(q), static_cast<long long>(k));
      wrong |= gallery.check("causal", problem, x.args);
    }
  return wrong;
}
