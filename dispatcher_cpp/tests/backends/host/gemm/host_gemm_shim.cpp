// The host GEMM over a C ABI, for the Python references: structs by pointer, the workspace guarded on both sides.
#include "backends/host/gemm/gemm.hpp"
#include "backends/host/moe/moe.hpp"
#include "ckgen/preshuffle.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

using namespace ckgen;

namespace {

constexpr std::size_t kGuard = 256;

// Exactly `bytes` usable bytes at a 64-byte boundary; NaN-filled, since a kernel may not read what it has not written.
class GuardedWorkspace {
 public:
  explicit GuardedWorkspace(std::size_t bytes) : bytes_(bytes) {
    all_ = static_cast<unsigned char*>(std::aligned_alloc(64, (bytes + 2 * kGuard + 63) / 64 * 64));
    std::memset(all_, 0xff, bytes + 2 * kGuard);
  }
  ~GuardedWorkspace() { std::free(all_); }
  GuardedWorkspace(const GuardedWorkspace&) = delete;
  GuardedWorkspace& operator=(const GuardedWorkspace&) = delete;
  void* data() const { return all_ + kGuard; }
  bool intact() const {
    for (std::size_t i = 0; i < kGuard; ++i)
      if (all_[i] != 0xff || all_[kGuard + bytes_ + i] != 0xff) return false;
    return true;
  }

 private:
  std::size_t bytes_;
  unsigned char* all_;
};

int answer(const Status& s, const GuardedWorkspace& w, char* message) {
  std::memcpy(message, s.message, sizeof s.message);
  return w.intact() ? static_cast<int>(s.code) : -1;
}

}  // namespace

extern "C" {

int shim_dtype(const char* text) {
  DType t{};
  return parse(text, t) ? static_cast<int>(t) : -1;
}

int shim_twin(const GemmTraits* t, const host::TwinConfig* c, std::int64_t k_batch, const GemmArgs* a, char* message) {
  const GuardedWorkspace w(host::gemm_twin_workspace(*t, *c, k_batch, a->m, a->n, a->k, a->batch));
  return answer(host::run_gemm_twin(*t, *c, k_batch, *a, w.data()), w, message);
}

int shim_host(const GemmTraits* t, const host::HostConfig* c, const GemmArgs* a, char* message) {
  const GuardedWorkspace w(host::gemm_host_workspace(*t, *c, a->m, a->n, a->k, a->batch));
  return answer(host::run_gemm_host(*t, *c, *a, w.data()), w, message);
}

int shim_twin_stream_k(const GemmTraits* t, const host::TwinConfig* c, int strategy, std::int64_t workgroups,
                       const GemmArgs* a, char* message) {
  const auto how = static_cast<Strategy>(strategy);
  const GuardedWorkspace w(host::gemm_twin_stream_k_workspace(*t, *c, how, workgroups, a->m, a->n, a->k, a->batch));
  return answer(host::run_gemm_twin_stream_k(*t, *c, how, workgroups, *a, w.data()), w, message);
}

// traits: part, gated, weight_first; sizes: tokens, N, K, experts, top_k. `own` null: as the twin.
int shim_moe(const GemmTraits* t, const std::uint8_t* traits, const host::TwinConfig* twin, const host::HostConfig* own,
             const std::int64_t* sizes, const MoeArgs* a, char* message) {
  const MoeTraits moe{static_cast<MoePart>(traits[0]), traits[1] != 0, traits[2] != 0};
  const Routing routing{static_cast<std::uint16_t>(sizes[3]), static_cast<std::uint16_t>(sizes[4])};
  const host::MoeShape shape{sizes[0], sizes[1], sizes[2], routing, 32};
  if (own != nullptr) {
    const GuardedWorkspace w(host::moe_host_workspace(*t, moe, *own, shape));
    return answer(host::run_moe_host(*t, moe, *own, shape, *a, w.data()), w, message);
  }
  const GuardedWorkspace w(host::moe_twin_workspace(*t, moe, *twin, shape));
  return answer(host::run_moe_twin(*t, moe, *twin, shape, *a, w.data()), w, message);
}

int shim_isa(void) {
  return static_cast<int>(host::detect_isa());
}
int shim_threads(void) {
  return host::thread_count();
}
int shim_isa_available(int isa) {
  return host::isa_available(static_cast<host::Isa>(isa)) ? 1 : 0;
}
int shim_tiles(const GemmTraits* t, int isa, std::int32_t* pairs, int capacity) {
  host::RegisterTile tiles[32];
  const int n = host::host_register_tiles(*t, static_cast<host::Isa>(isa), tiles, capacity < 32 ? capacity : 32);
  for (int i = 0; i < n; ++i) {
    pairs[2 * i] = tiles[i].mr;
    pairs[2 * i + 1] = tiles[i].nr;
  }
  return n;
}

int shim_preshuffle(const void* src, std::int64_t stride, void* dst, std::int64_t n, std::int64_t row_bytes) {
  return preshuffle_b(src, stride, dst, n, row_bytes) ? 1 : 0;
}
int shim_unpreshuffle(const void* src, void* dst, std::int64_t stride, std::int64_t n, std::int64_t row_bytes) {
  return unpreshuffle_b(src, dst, stride, n, row_bytes) ? 1 : 0;
}
int shim_shuffle_scale(const void* src, std::int64_t stride, void* dst, std::int64_t rows, std::int64_t groups) {
  return shuffle_mx_scale(src, stride, dst, rows, groups) ? 1 : 0;
}
int shim_unshuffle_scale(const void* src, void* dst, std::int64_t stride, std::int64_t rows, std::int64_t groups) {
  return unshuffle_mx_scale(src, dst, stride, rows, groups) ? 1 : 0;
}

}  // extern "C"
