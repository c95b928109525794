// Misses shapes of every module on two targets, twice, with CKGEN_RECORD set; its argument shifts the shapes.
#include <cstdlib>

#include "tiny_library.hpp"

namespace {

constexpr const char* kSignatures[] = {
    "a8w8:int8",       "a8w8:fp8_fnuz",
    "a8w8:int8:fp16",  "a8w8_bpreshuffle:fp8_ocp",
    "a8w8_blockscale", "a8w8_blockscale_bpreshuffle",
    "a4w4_blockscale", "mxfp8",
    "batched_a8w8",    "batched_bf16",
    "bf16:fp32:bias",
};
constexpr const char* kTargets[] = {"gfx942:80", "gfx950:256"};

}  // namespace

int main(int, char** argv) {
  using namespace ckgen;
  const int shift = std::atoi(argv[1]);
  Registry registry;
  std::uint64_t id = 0;
  static char names[64][16];
  for (const char* text : kSignatures) {
    for (const DType fp8 : {DType::fp8_fnuz, DType::fp8_ocp}) {
      Signature s = *parse_signature(text);
      for (DType* dtype : {&s.a, &s.b}) *dtype = *dtype == DType::fp8 ? fp8 : *dtype;
      names[id][0] = static_cast<char>('A' + id);
      if (!registry.add(tiny::instance(names[id], id, s, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false})).ok()) return 1;
      ++id;
    }
  }
  const Dispatcher dispatcher{registry};
  for (int round = 0; round < 2; ++round) {
    for (const char* target : kTargets) {
      for (const char* text : kSignatures) {
        for (int m = 1; m <= 20; ++m) {
          const Problem problem = gemm(text).shape(m + shift, 256, 256);
          if (!dispatcher.select(problem, Device::simulated(target))) return 2;
        }
      }
    }
  }
  return 0;
}
