// Calls the PrepareFn of an attention host unit with plain structs, for a process that has no dispatcher. Compile with
// PREPARE and ARCH defined.
#include <cstdint>

#include <ckgen/problem.hpp>

#include "prepared.hpp"

extern "C" ckgen::Status PREPARE(const ckgen::Launch& launch, ckgen::Arch arch, std::uint32_t cu_num,
                                 ckgen::KernelCall& out) noexcept;

extern "C" std::uint64_t ckgen_prepare_fmha_sizes() {
  return std::uint64_t{sizeof(ckgen::FmhaShape)} << 32 | sizeof(ckgen::FmhaArgs);
}

extern "C" int ckgen_prepare_fmha(const ckgen::FmhaShape* shape, const ckgen::FmhaArgs* args, std::uint32_t splits,
                                  std::uint32_t cu_num, Answered* to) {
  ckgen::Signature signature;
  signature.op = ckgen::Op::fmha;
  ckgen::Problem problem{signature};
  problem.fmha(*shape);
  ckgen::Launch launch{};
  launch.problem = &problem;
  launch.k_batch = splits;
  launch.fmha = args;
  return answer(PREPARE, launch, ckgen::Arch::ARCH, cu_num, to);
}
