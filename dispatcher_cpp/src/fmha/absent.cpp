#include "src/fmha/absent.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <ckgen/signature_text.hpp>

#include "src/fmha/text.hpp"
#include "src/registry/registry_state.hpp"

namespace ckgen::inline v1::detail {
namespace {

using Words = std::vector<std::string>;

Words words_of(const FmhaTraits& traits) {
  Words words;
  write_traits(traits, [&words](std::string word) { words.push_back(std::move(word)); });
  return words;
}

/// Those of `words` that `others` have not.
Words beyond(const Words& words, const Words& others) {
  Words found;
  std::copy_if(words.begin(), words.end(), std::back_inserter(found), [&others](const std::string& word) {
    return std::find(others.begin(), others.end(), word) == others.end();
  });
  return found;
}

std::string listed(const char* before, const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? before : ", ") + word;
  return text;
}

std::string name_of(const Signature& signature) {
  char text[kSignatureTextSize];
  return {text, canonical_text(signature, text)};
}

}  // namespace

std::string fmha_absent(const Request& q) {
  const Words wanted = words_of(q.signature.fmha);
  const InstanceDesc* nearest = nullptr;
  std::size_t fewest = 0;
  for (const InstanceDesc* one : q.state.instances) {
    const Signature& s = one->signature;
    const bool is_alike =
        s.op == q.signature.op && s.a == q.signature.a && s.b == q.signature.b && s.c == q.signature.c;
    if (!is_alike || (one->archs & q.archs) == 0) continue;
    const Words own = words_of(s.fmha);
    const std::size_t differs = beyond(wanted, own).size() + beyond(own, wanted).size();
    if (nearest != nullptr && differs >= fewest) continue;
    nearest = one;
    fewest = differs;
  }
  const std::string head = name_of(q.signature) + " on " + std::string(arch_name(q.arch)) + ": ";
  if (nearest == nullptr) return head + "attention of these types was not built at all";
  const Words own = words_of(nearest->signature.fmha);
  const std::string without = listed(" without ", beyond(wanted, own)), with = listed(" with ", beyond(own, wanted));
  return head + "the nearest, " + name_of(nearest->signature) + ", is" + without +
         (without.empty() || with.empty() ? "" : " and") + with;
}

}  // namespace ckgen::inline v1::detail
