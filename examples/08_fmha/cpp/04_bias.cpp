// What is added to the scores: a matrix, whose strides of 0 share it, or slopes per head (ALiBi).
#include <cmath>

#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words);
  const Gallery gallery(asked);

  const ckgen::Problem with_matrix = Gallery::need(said(asked, DType::bf16).bias().build());
  Operands x(with_matrix);
  const Tensor matrix(DType::bf16, asked.heads_q * asked.seqlen_q * asked.seqlen_k, 5);
  x.args.bias = matrix.data();
  x.args.bias_strides = {asked.seqlen_k, asked.seqlen_q * asked.seqlen_k, 0};  // one of each head, for all sequences
  const int wrong = gallery.check("a matrix per head", with_matrix, x.args);

  const ckgen::Problem with_slopes = Gallery::need(said(asked, DType::bf16).causal().alibi().build());
  Operands y(with_slopes);
  std::vector<float> slopes;
  for (std::int32_t head = 1; head <= asked.heads_q; ++head)
    slopes.push_back(std::exp2(-8.0F * static_cast<float>(head) / static_cast<float>(asked.heads_q)));
  y.args.bias = slopes.data();
  y.args.bias_strides = {0, 1, 0};
  return wrong | gallery.check("slopes per head", with_slopes, y.args);
}
