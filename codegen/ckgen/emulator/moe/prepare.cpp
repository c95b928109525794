// Calls a host unit's PrepareFn with plain numbers, for a process that has no dispatcher. Compile with PREPARE, ARCH,
// PART, TYPE_A, TYPE_B and TYPE_C defined.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <ckgen/device_code.hpp>
#include <ckgen/problem.hpp>

extern "C" ckgen::Status PREPARE(const ckgen::Launch& launch, ckgen::Arch arch, std::uint32_t cu_num,
                                 ckgen::KernelCall& out) noexcept;

namespace {
struct Asked {
  ckgen::MoeArgs args;
  std::int64_t n, k;
  std::int32_t experts, top_k, block_m;
  std::uint32_t cu_num;
};
struct Answered {
  char symbol[256];
  std::uint32_t grid[3], block[3];
  std::uint32_t dynamic_lds, args_size;
  std::uint64_t clear_bytes;
  unsigned char args[ckgen::kMaxKernelArgs];
  char message[240];
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
  ckgen::KernelCall call;
  call.reset();
  const ckgen::Status status = PREPARE(launch, ckgen::Arch::ARCH, asked->cu_num, call);
  if (!status.ok()) {
    std::memcpy(to->message, status.message, sizeof to->message);
    return static_cast<int>(status.code);
  }
  std::snprintf(to->symbol, sizeof to->symbol, "%s", call.symbol);
  std::memcpy(to->grid, call.grid, sizeof to->grid);
  std::memcpy(to->block, call.block, sizeof to->block);
  to->dynamic_lds = call.dynamic_lds;
  to->args_size = call.args_size;
  to->clear_bytes = call.clear.rows * call.clear.width;
  std::memcpy(to->args, call.args, call.args_size);
  return 0;
}
