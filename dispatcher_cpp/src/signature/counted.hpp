// What rules count of a signature, and numbers as text. Pure functions.
#pragma once

#include <charconv>
#include <string_view>

#include <ckgen/signature.hpp>

namespace ckgen::inline v1::detail {

/// A number's text, which lives as long as this does.
class Digits {
 public:
  std::string_view of(int number) noexcept {
    const char* const end = std::to_chars(text_, text_ + sizeof text_, number).ptr;
    return {text_, static_cast<std::size_t>(end - text_)};
  }

 private:
  char text_[12];
};

constexpr int count_epilogue_steps(const Signature& s) noexcept {
  int steps = 0;
  for (const EpilogueOp op : s.epilogue.ops) steps += op != EpilogueOp::none ? 1 : 0;
  return steps;
}

constexpr int count_epilogue_d_count(const Signature& s) noexcept {
  return s.epilogue.d_count();
}

/// Steps behind one that is none.
constexpr int count_epilogue_gaps(const Signature& s) noexcept {
  int gaps = 0;
  for (int i = 1; i < kMaxEpilogueOps; ++i)
    gaps += s.epilogue.ops[i] != EpilogueOp::none && s.epilogue.ops[i - 1] == EpilogueOp::none ? 1 : 0;
  return gaps;
}

}  // namespace ckgen::inline v1::detail
