// Calls what an attention host unit defines with plain structs, for a process that has no dispatcher. Compile with
// PREPARE and ARCH defined, and STAGES where the unit has an FmhaStages.
#include <cstdint>

#include <ckgen/problem.hpp>

#include "prepared.hpp"

extern "C" ckgen::Status PREPARE(const ckgen::Launch& launch, ckgen::Arch arch, std::uint32_t cu_num,
                                 ckgen::KernelCall& out) noexcept;
#ifdef STAGES
extern "C" const ckgen::FmhaStages STAGES;
#endif

namespace {
struct Asked {
  const ckgen::FmhaShape* shape;
  const ckgen::FmhaArgs* args;
  void* workspace;
  std::uint32_t splits, cu_num;
  // of the instance
  std::int32_t m0;
  std::uint8_t merge_heads, varlen, lse, o_type;
};

/// The instance and its launch; not to be copied.
struct Asking {
  explicit Asking(const Asked& of) : problem(signature_of(of)) {
    instance.signature = signature_of(of);
    instance.fmha.m0 = of.m0;
    instance.fmha.merge_heads = of.merge_heads != 0;
    problem.fmha(*of.shape);
    launch.instance = &instance;
    launch.problem = &problem;
    launch.k_batch = of.splits;
    launch.workspace = of.workspace;
    launch.fmha = of.args;
  }
  static ckgen::Signature signature_of(const Asked& of) {
    ckgen::Signature signature;
    signature.op = ckgen::Op::fmha;
    signature.c = static_cast<ckgen::DType>(of.o_type);
    signature.fmha.varlen = of.varlen != 0;
    signature.fmha.lse = of.lse != 0;
    return signature;
  }
  ckgen::InstanceDesc instance{};
  ckgen::Problem problem;
  ckgen::Launch launch{};
};
}  // namespace

extern "C" std::uint64_t ckgen_prepare_fmha_sizes() {
  return std::uint64_t{sizeof(ckgen::FmhaShape)} << 32 | sizeof(ckgen::FmhaArgs);
}

/// As a plan does it: of gradients the stage before the kernel checks the arguments, where there is one.
extern "C" int ckgen_prepare_fmha(const Asked* asked, Answered* to) {
  const Asking asking(*asked);
#ifdef STAGES
  if (STAGES.dot_do_o != nullptr && asked->shape->seqlen_q != 0) {
    const int refused = answer(STAGES.dot_do_o, asking.launch, ckgen::Arch::ARCH, asked->cu_num, to);
    if (refused != 0) return refused;
  }
#endif
  return answer(PREPARE, asking.launch, ckgen::Arch::ARCH, asked->cu_num, to);
}

#ifdef STAGES
extern "C" std::uint64_t ckgen_fmha_partials(const Asked* asked) {
  const Asking asking(*asked);
  return STAGES.partials(asking.instance, asking.problem, asked->splits, ckgen::Arch::ARCH, asked->cu_num);
}

extern "C" int ckgen_prepare_fmha_combine(const Asked* asked, Answered* to) {
  const Asking asking(*asked);
  return answer(STAGES.combine, asking.launch, ckgen::Arch::ARCH, asked->cu_num, to);
}
#endif
