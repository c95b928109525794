// The same bits in every run and on any number of threads, asked for by name: what cannot be is refused, not dropped.
#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words, {"host", 2, 4, 2, 20, 150});
  const Gallery gallery(asked);
  const ckgen::Problem one = Gallery::need(said(asked, DType::bf16).causal().deterministic().num_threads(1).build());
  const ckgen::Problem all = Gallery::need(said(asked, DType::bf16).causal().deterministic().build());
  Operands x(one), y(all), z(all);
  int wrong = gallery.check("one thread", one, x.args);
  gallery.run(gallery.plan(all), y.args);
  gallery.run(gallery.plan(all), z.args);
  wrong |= expect("two runs are the same bits", y.o == z.o);
  wrong |= expect("and one thread gives them too", x.o == y.o);

  // A row is the same bytes whatever sequences stand beside it.
  Asked alone = asked;
  alone.batch = 1;
  const ckgen::Problem many = Gallery::need(said(asked, DType::bf16).causal().batch_invariant().build());
  const ckgen::Problem single = Gallery::need(said(alone, DType::bf16).causal().batch_invariant().build());
  Operands a(many), b(single);  // a seed's numbers begin alike: the first sequences are the same
  gallery.run(gallery.plan(many), a.args);
  gallery.run(gallery.plan(single), b.args);
  bool same = true;
  for (std::int64_t i = 0; i < asked.seqlen_q * asked.heads_q * asked.hdim_v; ++i) same &= a.o.at(i) == b.o.at(i);
  return wrong | expect("a sequence alone is as among others", same);
}
