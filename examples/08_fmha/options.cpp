#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace {

/// The whole text as a number above the least; false for anything else.
template <class Number>
bool number(std::string_view text, Number least, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && out >= least;
}

/// Text before and behind the first separator; behind is empty where there is none.
std::pair<std::string_view, std::string_view> cut(std::string_view text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

/// "8,2" or "8": of the query and of the keys and values.
bool pair_of(std::string_view text, std::int32_t& q, std::int32_t& k) {
  const auto [first, second] = cut(text, ',');
  return number(first, 1, q) && number(second.empty() ? first : second, 1, k);
}

bool lengths_of(std::string_view text, std::vector<Lengths>& out) {
  out.clear();
  while (!text.empty()) {
    const auto [one, rest] = cut(text, ',');
    const auto [q, k] = cut(one, 'x');
    Lengths& lengths = out.emplace_back();
    if (!number(q, std::int64_t{0}, lengths.q) || !number(k, std::int64_t{0}, lengths.k)) return false;
    text = rest;
  }
  return !out.empty();
}

bool mask_of(std::string_view text, ckgen::FmhaShape& shape) {
  const auto [kind, window] = cut(text, ':');
  if (kind == "topleft") shape.corner = ckgen::FmhaCorner::top_left;
  if (kind == "causal" || kind == "topleft") return window.empty();
  const auto [left, right] = cut(window, ',');
  return kind == "window" && number(left, -1, shape.window_left) && number(right, -1, shape.window_right);
}

bool take(std::string_view key, std::string_view value, Options& options) {
  ckgen::FmhaShape& shape = options.shape;
  if (key == "device") return !(options.device = value).empty();
  if (key == "heads") return pair_of(value, shape.heads_q, shape.heads_k);
  if (key == "hdim") return pair_of(value, shape.hdim_q, shape.hdim_v);
  if (key == "lengths") return lengths_of(value, options.lengths);
  if (key == "mask") return options.signature.fmha.masked && mask_of(value, shape);
  if (key == "page_size")
    return options.signature.fmha.kv != ckgen::FmhaKv::contiguous && number(value, 1, shape.page_size);
  return false;
}

/// What data.cpp makes no operands of.
const char* missing(const ckgen::Signature& signature) {
  const ckgen::FmhaTraits& traits = signature.fmha;
  if (traits.entry != ckgen::FmhaEntry::forward) return "append";
  if (traits.dropout != ckgen::FmhaDropout::none) return "dropout";
  if (traits.quant != ckgen::FmhaQuant::none || ckgen::bits(signature.a) < 16 || ckgen::bits(signature.b) < 16)
    return "8-bit types";
  if (traits.v_column) return "vcolumn";
  if (traits.kv == ckgen::FmhaKv::page_list) return "pagelist";
  return traits.kv_layout == ckgen::FmhaKvLayout::linear ? nullptr : "vectorized";
}

}  // namespace

std::string read(int count, char** words, Options& options) {
  if (count < 2)
    return "usage: attention SIGNATURE [device=host] [heads=8,2] [hdim=64] [lengths=64x64,1x100] [mask=causal] "
           "[page_size=16]";
  options.signature_text = words[1];
  const auto signature = ckgen::parse_signature("fmha:" + options.signature_text);
  if (!signature) return signature.status().message;
  options.signature = *signature;
  if (const char* const word = missing(options.signature))
    return std::string("this program makes no operands of ") + word;

  options.shape.heads_q = options.shape.heads_k = 2;
  options.shape.hdim_q = options.shape.hdim_v = 64;
  for (int i = 2; i < count; ++i) {
    const auto [key, value] = cut(words[i], '=');
    if (!take(key, value, options))
      return std::string("not an option of this signature, or not a value of it: ") + words[i];
  }

  ckgen::FmhaShape& shape = options.shape;
  shape.batch = static_cast<std::int64_t>(options.lengths.size());
  for (const Lengths& one : options.lengths) {
    shape.seqlen_q = std::max(shape.seqlen_q, one.q);
    shape.seqlen_k = std::max(shape.seqlen_k, one.k);
    shape.total_q += one.q;
  }
  const bool alike = shape.total_q == shape.batch * shape.seqlen_q;
  if (!alike && !options.signature.fmha.varlen) return "sequences of unequal lengths of Q need the word varlen";
  if (options.signature.fmha.kv != ckgen::FmhaKv::contiguous && shape.page_size == 0) return "pages need page_size=";
  if (shape.page_size != 0) shape.pages = shape.batch * ((shape.seqlen_k + shape.page_size - 1) / shape.page_size);
  return {};
}
