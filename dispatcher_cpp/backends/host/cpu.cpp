// Which CPU is this? cpuid and affinity, asked once.
#include "backends/host/gemm/gemm.hpp"

#include <cpuid.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "backends/host/cpu_features.hpp"
#include "backends/host/gemm/blocking.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr const char* kIsaNames[] = {"x86_64_v3", "x86_64_v4", "x86_64_v4_bf16", "x86_64_amx"};
constexpr int kIsaCount = 4;

CpuidRegisters ask_cpuid(unsigned leaf, unsigned subleaf) {
  CpuidRegisters found;
  return __get_cpuid_count(leaf, subleaf, &found.a, &found.b, &found.c, &found.d) != 0 ? found : CpuidRegisters{};
}

unsigned saved_state() {
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

// Linux gives a process tile registers when it asks for them.
bool gets_tiles() noexcept {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool cpu_has(Isa isa) noexcept {
  __builtin_cpu_init();
  switch (isa) {
    case Isa::x86_64_v3:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    case Isa::x86_64_v4:
      return cpu_has(Isa::x86_64_v3) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    case Isa::x86_64_v4_bf16:
      return cpu_has(Isa::x86_64_v4) && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni") &&
             __builtin_cpu_supports("avx512vbmi");
    case Isa::x86_64_amx: {  // asked once: a virtual machine leaves for its host at each cpuid, for microseconds
      static const bool has = cpu_has(Isa::x86_64_v4_bf16) && has_amx(ask_cpuid, saved_state) && gets_tiles();
      return has;
    }
  }
  return false;
}

struct Brand {
  char text[64];
  Brand() noexcept : text{} {
    unsigned regs[12] = {};
    for (unsigned leaf = 0; leaf < 3; ++leaf)
      if (__get_cpuid(0x80000002u + leaf, &regs[leaf * 4], &regs[leaf * 4 + 1], &regs[leaf * 4 + 2],
                      &regs[leaf * 4 + 3]) == 0)
        break;
    char raw[49] = {};
    std::memcpy(raw, regs, 48);
    const char* first = raw;
    while (*first == ' ') ++first;
    std::size_t length = std::strlen(first);
    while (length > 0 && first[length - 1] == ' ') --length;
    std::memcpy(text, first, length);
    if (length == 0) std::memcpy(text, "unknown x86-64", 15);
  }
};

int count_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int n = CPU_COUNT(&set);
  return n > 0 ? n : 1;
}

int read_thread_count() noexcept {
  const char* text = std::getenv("CKGEN_NUM_THREADS");
  if (text != nullptr && *text != '\0') {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (*end == '\0' && value >= 1 && value <= 1024) return static_cast<int>(value);
  }
  return core_count();
}

Isa find_isa() noexcept {
  int cap = kIsaCount - 1;
  if (const char* text = std::getenv("CKGEN_HOST_ISA"))
    for (int i = 0; i < kIsaCount; ++i)
      if (std::strcmp(text, kIsaNames[i]) == 0) cap = i;
  for (int i = cap; i > 0; --i)
    if (isa_available(static_cast<Isa>(i))) return static_cast<Isa>(i);
  return Isa::x86_64_v3;
}

}  // namespace

bool isa_available(Isa isa) noexcept {
  return cpu_has(isa) && table_for(isa) != nullptr;
}

Status check_isa(Isa isa) noexcept {
  if (!cpu_has(isa)) return Status::error(StatusCode::unsupported, "%s is not an %s CPU", cpu_brand(), isa_name(isa));
  if (table_for(isa) == nullptr)
    return Status::error(StatusCode::unsupported, "ckgen was built without kernels for %s (CKGEN_HOST_LEVELS)",
                         isa_name(isa));
  return Status::success();
}

Isa detect_isa() noexcept {
  static const Isa isa = find_isa();
  return isa;
}

const char* isa_name(Isa isa) noexcept {
  const int i = static_cast<int>(isa);
  return i < kIsaCount ? kIsaNames[i] : "unknown";
}

const char* cpu_model() noexcept {
  static const CpuModel model(ask_cpuid);
  return model.text;
}

const char* cpu_brand() noexcept {
  static const Brand brand;
  return brand.text;
}

int core_count() noexcept {
  static const int n = count_cores();
  return n;
}

int all_threads() noexcept {
  static const int n = read_thread_count();
  return n;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
