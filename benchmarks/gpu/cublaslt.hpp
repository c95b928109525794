// cuBLASLt as a peer, opened at run time where CKGEN_CUBLASLT names its library: the first answer of its heuristic.
#pragma once

#include <cstdint>

#include <ckgen/gemm_types.hpp>
#include <ckgen/signature.hpp>

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
    must("cublasLtCreate", &handle_);
    workspace_ = gpu::allocate(kWorkspace);
  }

  /// The signature's product; false where there is no cuBLASLt or it has no answer. Sums of 8-bit floats are kept as
  /// ours are: in the matrix unit, but for block scales. `scales`: ones, as many as any padding of its own asks for.
  bool prepare(const ckgen::Signature& signature, std::int64_t m, std::int64_t n, std::int64_t k, const void* scales) {
    if (library_ == nullptr) return false;
    // Column-major: C^T = B A^T.
    must("cublasLtMatmulDescCreate", &what_, 68, 0);  // CUBLAS_COMPUTE_32F, CUDA_R_32F
    set(kTransA, std::int32_t{1});
    if (signature.quant != ckgen::Quant::none) {
      const bool is_blocked = signature.quant == ckgen::Quant::blockscale;
      set(kFastAccumulation, static_cast<std::int8_t>(is_blocked ? 0 : 1));
      const bool is_of_rows = signature.quant == ckgen::Quant::rowwise;
      set(kModeOfA, std::int32_t{is_blocked ? kBlock128x128 : is_of_rows ? kOuterVector : kScalar});
      set(kModeOfA + 1, std::int32_t{is_blocked ? kVector128 : is_of_rows ? kOuterVector : kScalar});
      set(kScaleOfA, scales);
      set(kScaleOfA + 1, scales);
    }
    const int in = type_of(signature.a), out = type_of(signature.c);
    must("cublasLtMatrixLayoutCreate", &b_, in, static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(n), k);
    must("cublasLtMatrixLayoutCreate", &a_, in, static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(m), k);
    must("cublasLtMatrixLayoutCreate", &c_, out, static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(m), n);
    void* wishes = nullptr;
    must("cublasLtMatmulPreferenceCreate", &wishes);
    const std::uint64_t most = kWorkspace;
    must("cublasLtMatmulPreferenceSetAttribute", wishes, 1, &most, sizeof most);  // MAX_WORKSPACE_BYTES
    int found = 0;
    const int code =
        call("cublasLtMatmulAlgoGetHeuristic", handle_, what_, b_, a_, c_, c_, wishes, 1, &answer_, &found);
    return code == 0 && found > 0 && answer_.status == 0;
  }

  void run(const void* a, const void* b, void* c, void* stream) const {
    const float one = 1, zero = 0;
    must("cublasLtMatmul", handle_, what_, &one, b, b_, a, a_, &zero, static_cast<const void*>(c), c_, c, c_,
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
  // cublasLtMatmulDescAttributes_t, and what its scale modes are
  static constexpr int kTransA = 3, kScaleOfA = 17, kFastAccumulation = 25, kModeOfA = 31;
  static constexpr int kScalar = 0, kOuterVector = 3, kVector128 = 4, kBlock128x128 = 5;
  static constexpr std::size_t kWorkspace = 32U << 20;

  static int type_of(ckgen::DType type) {  // cudaDataType_t
    switch (type) {
      case ckgen::DType::fp16: return 2;
      case ckgen::DType::bf16: return 14;
      case ckgen::DType::fp8_ocp: return 28;
      default: return 29;
    }
  }
  template <class Value>
  void set(int attribute, const Value& value) const {
    must("cublasLtMatmulDescSetAttribute", what_, attribute, static_cast<const void*>(&value), sizeof value);
  }
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
    return function != nullptr ? function(arguments...) : -1;
  }
  template <class... Arguments>
  void must(const char* name, Arguments... arguments) const {
    const int code = call(name, arguments...);
    if (code == 0) return;
    std::fprintf(stderr, "%s answered with %d\n", name, code);
    std::exit(1);
  }

  void* library_ = nullptr;
  void* handle_ = nullptr;
  void* workspace_ = nullptr;
  void *what_ = nullptr, *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
  Answer answer_{};
};
