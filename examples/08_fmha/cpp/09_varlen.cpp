// Sequences of unequal lengths, one after the other without padding, one of them empty.
#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words, {"host", 4, 4, 2});
  const Gallery gallery(asked);
  std::vector<std::int32_t> starts_q{0}, starts_k{0};
  for (std::int64_t b = 0; b < asked.batch; ++b) {  // the first is the longest, the second is empty
    const std::int64_t less = b == 1 ? asked.batch : b;
    starts_q.push_back(starts_q.back() +
                       static_cast<std::int32_t>(asked.seqlen_q * (asked.batch - less) / asked.batch));
    starts_k.push_back(starts_k.back() +
                       static_cast<std::int32_t>(asked.seqlen_k * (asked.batch - less) / asked.batch));
  }
  const ckgen::Problem problem = Gallery::need(said(asked, DType::bf16).varlen(starts_q.back()).causal().build());
  Operands x(problem);
  x.args.seqstart_q = starts_q.data(), x.args.seqstart_k = starts_k.data();
  return gallery.check("sequences one after the other", problem, x.args);
}
