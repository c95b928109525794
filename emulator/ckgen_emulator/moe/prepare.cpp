// Calls a host unit's PrepareFn with plain numbers, for a process that has no dispatcher. Compile with PREPARE, ARCH,
// PART, TYPE_A, TYPE_B and TYPE_C defined.
#include <cstdint>

#include <ckgen/problem.hpp>

#include "prepared.hpp"

extern "C" ckgen::Status PREPARE(const ckgen::Launch& launch, ckgen::Arch arch, std::uint32_t cu_num,
                                 ckgen::KernelCall& out) noexcept;

namespace {
struct Asked {
  ckgen::MoeArgs args;
  std::int64_t n, k;
  std::int32_t experts, top_k, block_m;
  std::uint32_t cu_num;
};
}  // namespace

extern "C" int ckgen_prepare_part(const Asked* asked, Answered* to) {
  ckgen::Signature signature;
  signature.op = ckgen::Op::moe;
  signature.moe.part = ckgen::MoePart::PART;
  signature.a = ckgen::DType::TYPE_A;
  signature.b = ckgen::DType::TYPE_B;
  signature.c = ckgen::DType::TYPE_C;
  ckgen::Problem problem{signature};
  problem.shape(asked->args.tokens, asked->n, asked->k)
      .routing({static_cast<std::uint16_t>(asked->experts), static_cast<std::uint16_t>(asked->top_k)})
      .block_m(asked->block_m);
  ckgen::Launch launch{};
  launch.problem = &problem;
  launch.k_batch = 1;
  launch.moe = &asked->args;
  return answer(PREPARE, launch, ckgen::Arch::ARCH, asked->cu_num, to);
}
