#include "src/providers/cublaslt.hpp"

#include "src/gpu/cuda.hpp"
#include "src/providers/description.hpp"
#include "src/providers/matmul_library.hpp"

namespace ckgen::inline v1::detail {
namespace {

constexpr int kCompute32f = 68;  // cublasComputeType_t

// cublasLtMatmulDescAttributes_t, and cublasLtMatmulMatrixScale_t.
constexpr int kTransA = 3, kScaleOfA = 17, kFastAccumulation = 25, kModeOfA = 31;
constexpr std::int32_t kScalar = 0, kOuterVector = 3, kVector128 = 4, kBlock128x128 = 5;

/// cublasLtMatmulAlgoConfigAttributes_t: what an algorithm may be set to, and the bytes of each. `algo` itself is given
/// where an algorithm is made.
struct Setting {
  std::string_view word;
  int attribute;
  std::size_t bytes;
};
constexpr Setting kSettings[] = {{"algo", 0, 4},   {"tile", 1, 4},      {"stages", 6, 4},
                                 {"splits", 2, 4}, {"reduction", 3, 4}, {"swizzle", 4, 4},
                                 {"custom", 5, 4}, {"inner", 7, 2},     {"cluster", 8, 2}};

/// Stands where scales will: with a mode of scales the library wants addresses before it is asked for algorithms.
alignas(16) constexpr float kLater[4] = {1, 1, 1, 1};

constexpr LibraryFacts kCublasLt = {.name = kCublasLtName,
                                    .title = "cuBLASLt",
                                    .prefix = "cublasLt",
                                    .variable = "CKGEN_CUBLASLT",
                                    .files = {"libcublasLt.so.13", "libcublasLt.so.12"},
                                    .runtime = cuda_runtime,
                                    .algorithm_bytes = 64,
                                    .compute_fp32 = kCompute32f,
                                    .trans_a = kTransA,
                                    .scale_of_a = kScaleOfA,
                                    .not_supported = 15};

class CublasLt final : public MatmulLibrary {
 public:
  CublasLt() noexcept : MatmulLibrary(kCublasLt) {
    const bool found = status_.ok() && find("GetVersion", version_) && find("MatmulAlgoInit", init_) &&
                       find("MatmulAlgoConfigSetAttribute", configure_) &&
                       find("MatmulAlgoConfigGetAttribute", configured_) && find("MatmulAlgoCheck", check_);
    static_cast<void>(found);  // status_ says which is missing
  }

 private:
  Status version_of(void*, std::string& out) const override {
    const std::size_t number = version_();
    out =
        std::to_string(number / 10000) + '.' + std::to_string(number / 100 % 100) + '.' + std::to_string(number % 100);
    return Status::success();
  }

  bool computes(DType type, Quant quant) const noexcept override {
    if (type == DType::fp16 || type == DType::bf16) return quant == Quant::none;
    const bool is_scaled = quant == Quant::per_tensor || quant == Quant::rowwise || quant == Quant::blockscale;
    return type == DType::fp8_ocp && is_scaled;
  }

  /// Sums of 8-bit floats stay in the matrix unit, as in kernels of ckgen's own, but for block scales.
  Status describe_scales(void* what, Quant quant) const noexcept override {
    const bool is_blocked = quant == Quant::blockscale;
    const std::int32_t of_rows = quant == Quant::rowwise ? kOuterVector : kScalar;
    Status status = set(what, kFastAccumulation, static_cast<std::int8_t>(is_blocked ? 0 : 1));
    if (status.ok()) status = set(what, kModeOfA, is_blocked ? kBlock128x128 : of_rows);
    if (status.ok()) status = set(what, kModeOfA + 1, is_blocked ? kVector128 : of_rows);
    for (const int operand : {0, 1})
      if (status.ok()) status = set(what, kScaleOfA + operand, static_cast<const void*>(kLater));
    return status;
  }

  Status settings_of(const Answer& answer, std::string& out) const override {
    for (const Setting& one : kSettings) {
      std::uint32_t value = 0;  // little-endian: two bytes fill its lower half
      std::size_t written = 0;
      const int code = configured_(answer.algorithm(), one.attribute, &value, one.bytes, &written);
      if (code != 0) return done("MatmulAlgoConfigGetAttribute", code);
      out.append(out.empty() ? "" : "_").append(one.word).append(std::to_string(value));
    }
    return Status::success();
  }

  Status choose(const Signature& s, std::string_view settings, Product& product) const noexcept override {
    std::string_view rest = settings;
    for (const Setting& one : kSettings) {
      std::int64_t value = 0;
      if (!take_setting(rest, one.word, value) || value >> (8 * one.bytes) != 0) return unknown(settings);
      const int in = type_of(s.a), out = type_of(s.c);
      const int code = one.attribute == 0 ? init_(product.handle, kCompute32f, kTypeFp32, in, in, out, out,
                                                  static_cast<int>(value), product.answer.algorithm())
                                          : configure_(product.answer.algorithm(), one.attribute, &value, one.bytes);
      if (code != 0) return done(one.attribute == 0 ? "MatmulAlgoInit" : "MatmulAlgoConfigSetAttribute", code);
    }
    if (!rest.empty()) return unknown(settings);
    Answer checked = product.answer;
    const int code = check_(product.handle, product.what, product.b, product.a, product.c, product.c,
                            product.answer.algorithm(), checked.bytes);
    if (code != 0) return done("MatmulAlgoCheck", code);
    std::memcpy(product.answer.bytes + kCublasLt.algorithm_bytes, checked.bytes + kCublasLt.algorithm_bytes,
                Answer::kMost - kCublasLt.algorithm_bytes);
    return Status::success();
  }

  std::size_t (*version_)() = nullptr;
  int (*init_)(void*, int, int, int, int, int, int, int, void*) = nullptr;
  int (*configure_)(void*, int, const void*, std::size_t) = nullptr;
  int (*configured_)(const void*, int, void*, std::size_t, std::size_t*) = nullptr;
  int (*check_)(void*, void*, void*, void*, void*, void*, const void*, void*) = nullptr;
};

}  // namespace

const Provider& cublaslt() noexcept {
  static const CublasLt* const library = new CublasLt;  // a process ends with the library open
  return *library;
}

}  // namespace ckgen::inline v1::detail
