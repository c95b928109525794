// What a library has, as one JSON document; and which of it answers a problem, with every reason.
#include <string>

#include <ckgen/registry_json.hpp>

#include "gallery.hpp"

int main(int count, char** words) {
  const Asked asked = read(count, words);
  const Gallery gallery(asked);
  const ckgen::Problem problem = Gallery::need(said(asked, DType::bf16).causal().build());
  const std::string document = ckgen::to_json(gallery.registry);
  std::uint32_t named = 0;
  for (std::uint32_t i = 0; i < gallery.registry.size(); ++i)
    named += document.find('"' + std::string(gallery.registry.instance(i).name) + '"') != std::string::npos;
  std::printf("%zu bytes of JSON\n%s", document.size(), gallery.dispatcher.explain(problem, gallery.device).c_str());
  const Operands x(problem);
  return gallery.check("what explain names", problem, x.args) |
         expect("every instance is in the document", named == gallery.registry.size());
}
