// Registries are values: one has all instances, another those of one signature, each with a dispatcher of its own.
#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words);
  const Gallery gallery(asked);
  const ckgen::Problem plain = Gallery::need(said(asked, DType::bf16).build());
  const ckgen::Problem causal = Gallery::need(said(asked, DType::bf16).causal().build());

  ckgen::Registry few;
  for (std::uint32_t i = 0; i < gallery.registry.size(); ++i)
    if (gallery.registry.instance(i).signature == causal.signature())
      Gallery::need(few.add(gallery.registry.instance(i)));
  const ckgen::Dispatcher small(few);
  std::printf("%u instances of %u\n", few.size(), gallery.registry.size());

  const Operands x(causal), y(causal);
  const int wrong = gallery.check("the large one", causal, x.args);
  Gallery::need(small.run(Gallery::need(small.plan(causal, gallery.device)), y.args, nullptr));
  const auto missing = small.plan(plain, gallery.device);
  std::printf("refused: %s\n", missing.status().message);
  return wrong | expect("the small one gives the same", x.o == y.o) | expect("and has no other signature", !missing);
}
