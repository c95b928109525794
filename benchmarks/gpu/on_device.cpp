// What a generated library does on the GPU that is there, through the dispatcher alone.
//
//   on_device check SIGNATURE [SEED [SHAPES]] | host [SWEEP.cubin] | table SIGNATURE SWEEP.cubin [ROUNDS [ANSWERS]]
//   on_device invariance SIGNATURE SWEEP.cubin [ROUNDS] | repeat SIGNATURE SWEEP.cubin [SECONDS]
//
// cuBLASLt is the file that CKGEN_CUBLASLT names, else what the loader finds. ANSWERS: `table` times so many answers of
// its heuristic beside the first. CKGEN_TABLE_SELECTED=1: of ours it times what selection takes.
#include <cstdlib>

#include <hopper/device_library.hpp>
#include <hopper_kernels/register.hpp>

#include "modes.hpp"

int main(int count, char** words) {
  using namespace ckgen;
  const std::string mode = count > 1 ? words[1] : "";
  Registry registry;
  must(hopper_kernels::register_all(registry));
  must(registry.attach(hopper::device_library()));
  must(registry.provide_libraries());
  const Device device = Device::current();
  std::fprintf(stderr, "device: %s:%u %s\n", device.gfx(), device.cu_num(),
               device.kind() == DeviceKind::gpu ? "" : device.note());
  if (device.kind() != DeviceKind::gpu) return 1;
  const Context context{registry, device, hopper::device_library()};
  if (mode == "host") return host(context, count > 2 ? words[2] : "");
  const auto signature = parse_signature(count > 2 ? words[2] : "gemm_bf16_rcr");
  must(signature.status());
  const bool is_grouped = signature->op == Op::grouped_gemm;
  if (mode == "check")
    return (is_grouped ? check_groups : check)(context, *signature,
                                               count > 3 ? static_cast<unsigned>(std::atoi(words[3])) : 1,
                                               count > 4 ? std::strtoul(words[4], nullptr, 10) : ~0UL);
  const int rounds = count > 4 ? std::atoi(words[4]) : 11;
  const auto answers = static_cast<std::uint32_t>(count > 5 ? std::atoi(words[5]) : 0);
  if (mode == "table" && count > 3 && is_grouped) return table_groups(context, *signature, words[3], rounds);
  if (mode == "table" && count > 3) return table(context, *signature, words[3], rounds, answers);
  if (mode == "repeat" && count > 3)
    return repeat(context, *signature, words[3], count > 4 ? std::atof(words[4]) : 0.2);
  if (mode == "invariance" && count > 3) return invariance(context, *signature, words[3], rounds);
  std::fprintf(stderr,
               "on_device check SIGNATURE [SEED [SHAPES]] | host [SWEEP.cubin] | table SIGNATURE SWEEP.cubin [ROUNDS "
               "[ANSWERS]] | invariance SIGNATURE SWEEP.cubin [ROUNDS] | repeat SIGNATURE SWEEP.cubin [SECONDS]\n");
  return 2;
}
