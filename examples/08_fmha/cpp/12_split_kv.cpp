// Few queries over many keys: parts of the keys are shared among workgroups or threads, and combined.
#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words, {"host", 1, 4, 1, 1, 600, 128, 128});
  const Gallery gallery(asked);
  const ckgen::Problem problem = Gallery::need(said(asked, DType::bf16).lse().build());
  Operands x(problem);
  std::vector<float> lse(static_cast<std::size_t>(asked.batch * asked.heads_q * asked.seqlen_q));
  x.args.lse = lse.data(), x.args.lse_head_stride = asked.seqlen_q;
  x.args.lse_batch_stride = asked.heads_q * asked.seqlen_q;
  int wrong = gallery.check("as many parts as cost least", problem, x.args);
  ckgen::Selection chosen = gallery.dispatcher.select(problem, gallery.device);
  for (const std::uint32_t parts : {1U, 3U, 8U}) {
    chosen.k_batch = parts;  // a caller's own number
    const auto plan = gallery.dispatcher.plan(problem, gallery.device, chosen);
    wrong |= gallery.check("a number of the caller's", Gallery::need(plan), x.args);
    std::printf("  workspace of %lld bytes, %u stages\n", static_cast<long long>(plan->workspace_size),
                static_cast<unsigned>(plan->stage_count));
  }
  return wrong;
}
