// Which pointers of attention a kernel reads or writes, and the refusal of one that is null. C++17, no HIP.
//
// Pure functions; what they refuse is invalid_argument, by the name of the field of FmhaArgs.
#pragma once

#include <cstddef>

#include <ckgen/fmha.hpp>
#include <ckgen/status.hpp>

namespace ckgen::device {

struct FmhaPointer {
  const char* name;
  const void* memory;
  bool is_needed;
};

template <std::size_t kCount>
Status check_pointers(const FmhaPointer (&all)[kCount]) noexcept {
  for (const FmhaPointer& one : all) {
    if (one.is_needed && one.memory == nullptr)
      return Status::error(StatusCode::invalid_argument, "%s is null", one.name);
  }
  return Status::success();
}

/// Of kernels that append, whatever the caches' layout.
inline Status check_append_pointers(const FmhaTraits& t, const FmhaShape& shape, const FmhaArgs& x) noexcept {
  const bool rope = t.rope != FmhaRope::none, rotates = rope && shape.seqlen_q != 0, adds = shape.seqlen_new != 0;
  const bool list = t.kv == FmhaKv::page_list, table = t.kv == FmhaKv::block_table;
  const FmhaPointer all[] = {{"q", x.q, rotates},
                             {"o", x.o, rotates},
                             {"k_cache", x.k_cache, adds},
                             {"v_cache", x.v_cache, adds},
                             {"k_new", x.k_new, adds},
                             {"v_new", x.v_new, adds},
                             {"rotary_cos", x.rotary_cos, rope},
                             {"rotary_sin", x.rotary_sin, rope},
                             {"k_descale", x.k_descale, adds && t.quant != FmhaQuant::none},
                             {"v_descale", x.v_descale, adds && t.quant != FmhaQuant::none},
                             {"seqstart_q", x.seqstart_q, t.varlen},
                             {"seqstart_k", x.seqstart_k, t.varlen && !list && !table},
                             {"seqlen_k", x.seqlen_k, !list},
                             {"block_table", x.block_table, table},
                             {"kv_indptr", x.kv_indptr, list},
                             {"kv_pages", x.kv_pages, list},
                             {"kv_last_page", x.kv_last_page, list}};
  return check_pointers(all);
}

}  // namespace ckgen::device
