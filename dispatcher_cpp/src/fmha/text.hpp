// The words of attention traits, in the order of a canonical name.
#pragma once

#include <string_view>

#include <ckgen/fmha.hpp>

namespace ckgen::inline v1::detail {

constexpr std::string_view rope_word(FmhaRope rope) noexcept {
  return rope == FmhaRope::interleaved ? "rope_interleaved" : "rope_half";
}

/// Calls `write(word)` for what differs from a plain forward signature.
template <class Write>
void write_traits(const FmhaTraits& traits, Write write) {
  if (traits.entry == FmhaEntry::append) write(std::string_view("append"));
  if (traits.varlen) write(std::string_view("varlen"));
  if (traits.v_column) write(std::string_view("vcolumn"));
  if (traits.masked) write(std::string_view("masked"));
  if (traits.bias != FmhaBias::none) write(name(traits.bias));
  if (traits.softcap) write(std::string_view("softcap"));
  if (traits.sink) write(std::string_view("sink"));
  if (traits.lse) write(std::string_view("lse"));
  if (traits.dropout != FmhaDropout::none) write(name(traits.dropout));
  if (traits.quant != FmhaQuant::none) write(name(traits.quant));
  if (traits.kv != FmhaKv::contiguous) write(name(traits.kv));
  if (traits.kv_layout == FmhaKvLayout::vectorized) write(std::string_view("vectorized"));
  if (traits.rope != FmhaRope::none) write(rope_word(traits.rope));
}

/// The inverse: `take(word)` says whether that word comes next, and removes it.
template <class Take>
FmhaTraits take_traits(Take take) {
  FmhaTraits traits;
  if (take("append")) traits.entry = FmhaEntry::append;
  traits.varlen = take("varlen");
  traits.v_column = take("vcolumn");
  traits.masked = take("masked");
  for (const FmhaBias bias : {FmhaBias::elementwise, FmhaBias::alibi}) {
    if (traits.bias == FmhaBias::none && take(name(bias))) traits.bias = bias;
  }
  traits.softcap = take("softcap");
  traits.sink = take("sink");
  traits.lse = take("lse");
  for (const FmhaDropout dropout : {FmhaDropout::philox, FmhaDropout::randval}) {
    if (traits.dropout == FmhaDropout::none && take(name(dropout))) traits.dropout = dropout;
  }
  for (const FmhaQuant quant : {FmhaQuant::per_tensor, FmhaQuant::blockscale, FmhaQuant::kv_blockscale}) {
    if (traits.quant == FmhaQuant::none && take(name(quant))) traits.quant = quant;
  }
  for (const FmhaKv kv : {FmhaKv::block_table, FmhaKv::page_list}) {
    if (traits.kv == FmhaKv::contiguous && take(name(kv))) traits.kv = kv;
  }
  if (take("vectorized")) traits.kv_layout = FmhaKvLayout::vectorized;
  for (const FmhaRope rope : {FmhaRope::interleaved, FmhaRope::half}) {
    if (traits.rope == FmhaRope::none && take(rope_word(rope))) traits.rope = rope;
  }
  return traits;
}

}  // namespace ckgen::inline v1::detail
