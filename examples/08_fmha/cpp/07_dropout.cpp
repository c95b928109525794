// Dropout: by the caller's bytes, or by bytes that a seed and an offset draw again whenever they are asked for.
#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words);
  const Gallery gallery(asked);

  const ckgen::Problem given = Gallery::need(said(asked, DType::bf16).randval().build());
  Operands x(given);
  std::vector<std::uint8_t> bytes;
  for (std::int64_t i = 0; i < asked.batch * asked.heads_q * asked.seqlen_q * asked.seqlen_k; ++i)
    bytes.push_back(static_cast<std::uint8_t>(i * 2654435761U >> 24));
  x.args.rand_val = bytes.data();
  x.args.rand_val_strides = {asked.seqlen_k, asked.seqlen_q * asked.seqlen_k,
                             asked.heads_q * asked.seqlen_q * asked.seqlen_k};
  x.args.p_drop = 0.25F;
  int wrong = gallery.check("bytes of the caller", given, x.args);

  const ckgen::Problem drawn = Gallery::need(said(asked, DType::bf16).dropout().build());
  Operands first(drawn), again(drawn), other(drawn);
  for (Operands* one : {&first, &again, &other}) one->args.p_drop = 0.25F, one->args.seed = 1234;
  other.args.seed = 4321;
  const ckgen::Plan plan = gallery.plan(drawn);
  for (const Operands* one : {&first, &again, &other}) gallery.run(plan, one->args);
  wrong |= expect("a seed drops the same elements again", first.o == again.o);
  return wrong | expect("another one drops others", !(first.o == other.o));
}
