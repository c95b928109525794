// The words of attention traits, in the order of a canonical name.
#pragma once

#include <string>
#include <type_traits>

#include <ckgen/signature.hpp>

#include "src/signature/fields.hpp"

namespace ckgen::inline v1::detail {

/// Calls `write(word)`, a std::string, for what differs from a plain forward signature.
template <class Write>
void write_traits(const FmhaTraits& traits, Write write) {
  Signature s;
  s.op = Op::fmha;
  s.fmha = traits;
  visit_words(s, [&write](auto member, std::string_view word, bool always) {
    if constexpr (std::is_same_v<decltype(member), bool>) {
      if (member) write(std::string(word));
    } else if (always || member != decltype(member){}) {
      write(std::string(word) + std::string(name(member)));
    }
  });
}

}  // namespace ckgen::inline v1::detail
