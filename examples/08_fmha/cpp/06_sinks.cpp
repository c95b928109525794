// Attention sinks: a logit per query head that takes a share of the softmax and has no value, as gpt-oss has it.
#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words, {"host", 2, 8, 1});
  const Gallery gallery(asked);
  const ckgen::Problem problem = Gallery::need(said(asked, DType::bf16).window(15, 0).sink().build());
  Operands x(problem);
  std::vector<float> sinks;
  for (std::int32_t head = 0; head < asked.heads_q; ++head) sinks.push_back(0.5F * static_cast<float>(head) - 1);
  x.args.sink = sinks.data();
  return gallery.check("sinks beside a window", problem, x.args);
}
