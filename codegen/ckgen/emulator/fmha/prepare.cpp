// Calls the PrepareFn of an attention host unit with plain structs, for a process that has no dispatcher. Compile with
// PREPARE and ARCH defined.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <ckgen/device_code.hpp>
#include <ckgen/problem.hpp>

extern "C" ckgen::Status PREPARE(const ckgen::Launch& launch, ckgen::Arch arch, std::uint32_t cu_num,
                                 ckgen::KernelCall& out) noexcept;

namespace {
struct Answered {
  char symbol[256];
  std::uint32_t grid[3], block[3];
  std::uint32_t dynamic_lds, args_size;
  unsigned char args[ckgen::kMaxKernelArgs];
  char message[240];
};
}  // namespace

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
  ckgen::KernelCall call;
  call.reset();
  const ckgen::Status status = PREPARE(launch, ckgen::Arch::ARCH, cu_num, call);
  if (!status.ok()) {
    std::memcpy(to->message, status.message, sizeof to->message);
    return static_cast<int>(status.code);
  }
  std::snprintf(to->symbol, sizeof to->symbol, "%s", call.symbol);
  std::memcpy(to->grid, call.grid, sizeof to->grid);
  std::memcpy(to->block, call.block, sizeof to->block);
  to->dynamic_lds = call.dynamic_lds;
  to->args_size = call.args_size;
  std::memcpy(to->args, call.args, call.args_size);
  return 0;
}
