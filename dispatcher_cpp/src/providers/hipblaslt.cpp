#include "src/providers/hipblaslt.hpp"

#include <memory>
#include <new>

#include "src/gpu/hip.hpp"
#include "src/providers/description.hpp"
#include "src/providers/matmul_library.hpp"

namespace ckgen::inline v1::detail {
namespace {

constexpr std::string_view kSolution = "solution";
constexpr int kMostSolutions = 1024;

constexpr LibraryFacts kHipblasLt = {.name = kHipblasLtName,
                                     .title = "hipBLASLt",
                                     .prefix = "hipblasLt",
                                     .variable = "CKGEN_HIPBLASLT",
                                     .files = {"libhipblaslt.so.1", "libhipblaslt.so.0"},
                                     .runtime = hip_runtime,
                                     .algorithm_bytes = 24,  // 16 of its own, and the most workspace
                                     .compute_fp32 = 2,      // HIPBLAS_COMPUTE_32F
                                     .trans_a = 0,           // HIPBLASLT_MATMUL_DESC_TRANSA
                                     .scale_of_a = 5,
                                     .not_supported = 7};  // HIPBLASLT_MATMUL_DESC_A_SCALE_POINTER

/// Its C functions name no kernels: an algorithm is the index of a solution, of one version and one arch. One is found
/// among the heuristic's answers.
class HipblasLt final : public MatmulLibrary {
 public:
  HipblasLt() noexcept : MatmulLibrary(kHipblasLt) {
    if (status_.ok()) static_cast<void>(find("GetVersion", version_));  // status_ says if it is missing
  }

 private:
  Status version_of(void* handle, std::string& out) const override {
    int number = 0;
    if (const int code = version_(handle, &number); code != 0) return done("GetVersion", code);
    out = std::to_string(number / 100000) + '.' + std::to_string(number / 100 % 1000) + '.' +
          std::to_string(number % 100);
    return Status::success();
  }

  bool computes(DType type, Quant quant) const noexcept override {
    if (type == DType::fp16 || type == DType::bf16) return quant == Quant::none;
    return (type == DType::fp8_ocp || type == DType::fp8_fnuz) && quant == Quant::per_tensor;
  }

  Status describe_scales(void*, Quant) const noexcept override { return Status::success(); }

  static std::int32_t solution_of(const unsigned char* answer) noexcept {
    std::int32_t index = 0;
    std::memcpy(&index, answer, sizeof index);
    return index;
  }

  Status settings_of(const Answer& answer, std::string& out) const override {
    out = std::string(kSolution) + std::to_string(solution_of(answer.bytes));
    return Status::success();
  }

  Status choose(const Signature&, std::string_view settings, Product& product) const noexcept override {
    std::string_view rest = settings;
    std::int64_t wanted = 0;
    if (!take_setting(rest, kSolution, wanted) || !rest.empty()) return unknown(settings);
    const std::size_t size = Answer::size(kHipblasLt.algorithm_bytes);
    const std::unique_ptr<unsigned char[]> answers(new (std::nothrow) unsigned char[size * kMostSolutions]);
    if (!answers) return Status::error(StatusCode::internal, "out of memory");
    int found = 0;
    if (const Status status = ask(product, kMostSolutions, answers.get(), found); !status.ok()) return status;
    for (int i = 0; i < found; ++i) {
      const unsigned char* one = answers.get() + static_cast<std::size_t>(i) * size;
      if (solution_of(one) != wanted) continue;
      std::memcpy(product.answer.bytes, one, size);
      return Status::success();
    }
    return Status::error(StatusCode::unsupported, "solution %lld is none of the %d that hipBLASLt has for the product",
                         static_cast<long long>(wanted), found);
  }

  int (*version_)(void*, int*) = nullptr;
};

}  // namespace

const Provider& hipblaslt() noexcept {
  static const HipblasLt* const library = new HipblasLt;  // a process ends with the library open
  return *library;
}

}  // namespace ckgen::inline v1::detail
