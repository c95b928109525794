// cuBLASLt as a peer, opened at run time where CKGEN_CUBLASLT names its library: the first answer of its heuristic.
#pragma once

#include <cstdint>

#include "driver.hpp"

class CublasLt {
 public:
  CublasLt() {
    const char* path = std::getenv("CKGEN_CUBLASLT");
    library_ = path != nullptr ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : nullptr;
    if (library_ == nullptr) {
      std::fprintf(stderr, "no cuBLASLt: %s\n", path != nullptr ? dlerror() : "CKGEN_CUBLASLT is not set");
      return;
    }
    call("cublasLtCreate", &handle_);
    workspace_ = gpu::allocate(kWorkspace);
  }

  /// C[M][N] = A[M][K] . B[N][K]^T of bf16; false where there is no cuBLASLt or it has no answer.
  bool prepare(std::int64_t m, std::int64_t n, std::int64_t k) const {
    if (library_ == nullptr) return false;
    // Column-major: C^T = B A^T.
    call("cublasLtMatmulDescCreate", &what_, 68, 0);  // CUBLAS_COMPUTE_32F, CUDA_R_32F
    const std::int32_t transposed = 1;
    call("cublasLtMatmulDescSetAttribute", what_, 3, &transposed, sizeof transposed);  // TRANSA
    call("cublasLtMatrixLayoutCreate", &b_, kBf16, static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(n), k);
    call("cublasLtMatrixLayoutCreate", &a_, kBf16, static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(m), k);
    call("cublasLtMatrixLayoutCreate", &c_, kBf16, static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(m), n);
    void* wishes = nullptr;
    call("cublasLtMatmulPreferenceCreate", &wishes);
    const std::uint64_t most = kWorkspace;
    call("cublasLtMatmulPreferenceSetAttribute", wishes, 1, &most, sizeof most);  // MAX_WORKSPACE_BYTES
    int found = 0;
    call("cublasLtMatmulAlgoGetHeuristic", handle_, what_, b_, a_, c_, c_, wishes, 1, &answer_, &found);
    return found > 0 && answer_.status == 0;
  }

  void run(const void* a, const void* b, void* c, void* stream) const {
    const float one = 1, zero = 0;
    call("cublasLtMatmul", handle_, what_, &one, b, b_, a, a_, &zero, static_cast<const void*>(c), c_, c, c_,
         static_cast<const void*>(&answer_), workspace_, answer_.workspace, stream);
  }

 private:
  struct Answer {  // cublasLtMatmulHeuristicResult_t; its first member is the algorithm
    std::uint64_t algorithm[8];
    std::size_t workspace;
    int status;
    float waves;
    int reserved[4];
  };
  static constexpr int kBf16 = 14;  // CUDA_R_16BF
  static constexpr std::size_t kWorkspace = 32U << 20;

  template <class... Arguments>
  void call(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
    const int code = function != nullptr ? function(arguments...) : -1;
    if (code == 0) return;
    std::fprintf(stderr, "%s answered with %d\n", name, code);
    std::exit(1);
  }

  void* library_ = nullptr;
  void* handle_ = nullptr;
  void* workspace_ = nullptr;
  mutable void *what_ = nullptr, *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
  mutable Answer answer_{};
};
