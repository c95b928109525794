// A step of decoding: one query per sequence over a KV cache in pages, which a row of the block table finds.
#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words, {"host", 3, 8, 2, 1, 100, 128, 128});
  const Gallery gallery(asked);
  constexpr std::int32_t kPage = 16;
  const std::int64_t each = (asked.seqlen_k + kPage - 1) / kPage, pages = asked.batch * each;
  const ckgen::Problem problem = Gallery::need(said(asked, DType::bf16).block_table(kPage, pages).build());

  const Tensor k(DType::bf16, pages * kPage * asked.heads_k * asked.hdim_q, 6);  // [page][row][head][D]
  const Tensor v(DType::bf16, pages * kPage * asked.heads_k * asked.hdim_v, 7);
  std::vector<std::int32_t> table, lengths;
  for (std::int64_t page = pages; page-- > 0;) table.push_back(static_cast<std::int32_t>(page));  // in any order
  for (std::int64_t b = 0; b < asked.batch; ++b)
    lengths.push_back(static_cast<std::int32_t>(asked.seqlen_k - asked.seqlen_k * b / asked.batch));

  Operands x(problem);
  x.args.k = k.data(), x.args.v = v.data();
  x.args.k_strides = {asked.heads_k * asked.hdim_q, asked.hdim_q, kPage * asked.heads_k * asked.hdim_q};
  x.args.v_strides = {asked.heads_k * asked.hdim_v, asked.hdim_v, kPage * asked.heads_k * asked.hdim_v};
  x.args.block_table = table.data(), x.args.block_table_stride = each;
  x.args.seqlen_k = lengths.data();
  return gallery.check("decode over a block table", problem, x.args);
}
