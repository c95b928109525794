// What a GEMM does beside the product, at the caller's addresses: the epilogue of a part of a row, operands of two
// tensors.
#pragma once

#include "backends/host/isa/table.hpp"
#include "ckgen/gemm_types.hpp"

#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// `values` are elements [column, column + n) of a row of C after scales and bias, in fp32; the epilogue changes them.
inline void apply_epilogue(const IsaTable& isa, const GemmTraits& traits, const GemmArgs& args, std::int64_t batch,
                           std::int64_t row, std::int64_t column, std::int64_t n, float* values) noexcept {
  if (traits.epilogue.empty()) return;
  FuseArgs f{};
  f.c = traits.c;
  f.alpha = args.alpha;
  f.n = n;
  for (int i = 0; i < kMaxEpilogueOps; ++i) f.ops[i] = traits.epilogue.ops[i];
  for (int i = 0; i < traits.epilogue.d_count(); ++i) {
    const std::int64_t element = batch * args.batch_stride_d[i] + row * args.ldd[i] + column;
    f.d[i] = static_cast<const unsigned char*>(args.d[i]) + bytes_of(traits.c, element);
  }
  isa.fuse(f, values);
}

/// `source` with a second tensor, whose elements lie as those of the first from `offset` on.
inline PackSource combined(PackSource source, OperandOp op, const void* second, std::int64_t offset) noexcept {
  source.op = op;
  if (op != OperandOp::none) source.second = static_cast<const unsigned char*>(second) + bytes_of(source.type, offset);
  return source;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
