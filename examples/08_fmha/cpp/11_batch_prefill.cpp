// Prompts over a cache whose pages are one list for all sequences, as SGLang has it: indptr, pages, last-page lengths.
#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words, {"host", 3, 4, 2, 20, 70, 128, 128});
  const Gallery gallery(asked);
  constexpr std::int32_t kPage = 16;
  std::vector<std::int32_t> starts{0}, indptr{0}, list, last;
  for (std::int64_t b = 0; b < asked.batch; ++b) {
    const auto keys = static_cast<std::int32_t>(asked.seqlen_k - asked.seqlen_k * b / (2 * asked.batch));
    starts.push_back(starts.back() + static_cast<std::int32_t>(asked.seqlen_q - asked.seqlen_q * b / asked.batch));
    indptr.push_back(indptr.back() + (keys + kPage - 1) / kPage);
    last.push_back((keys - 1) % kPage + 1);
  }
  for (std::int32_t page = indptr.back(); page-- > 0;) list.push_back(page);
  const ckgen::Problem problem =
      Gallery::need(said(asked, DType::bf16).varlen(starts.back()).causal().page_list(kPage, indptr.back()).build());

  const Tensor k(DType::bf16, indptr.back() * kPage * asked.heads_k * asked.hdim_q, 6);
  const Tensor v(DType::bf16, indptr.back() * kPage * asked.heads_k * asked.hdim_v, 7);
  Operands x(problem);
  x.args.k = k.data(), x.args.v = v.data();
  x.args.k_strides = {asked.heads_k * asked.hdim_q, asked.hdim_q, kPage * asked.heads_k * asked.hdim_q};
  x.args.v_strides = {asked.heads_k * asked.hdim_v, asked.hdim_v, kPage * asked.heads_k * asked.hdim_v};
  x.args.seqstart_q = starts.data();
  x.args.kv_indptr = indptr.data(), x.args.kv_pages = list.data(), x.args.kv_last_page = last.data();
  return gallery.check("prompts over a page list", problem, x.args);
}
