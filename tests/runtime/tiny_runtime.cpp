// The C++ tests' tiny library as a generated one would present itself to Python.
#include "tiny_library.hpp"

extern "C" const void* ckgen_tiny_library(void) {
  return &tiny::library;
}

// fp4 with mx scales: one twin.
namespace {

constexpr ckgen::Signature mx{ckgen::Op::gemm,    ckgen::DType::fp4,  ckgen::DType::fp4,  ckgen::DType::bf16,
                              ckgen::DType::fp32, ckgen::DType::e8m0, ckgen::Layout::rcr, ckgen::Quant::mx};
constexpr ckgen::InstanceDesc mx_instances[] = {
    tiny::instance("tiny_mx", 6, mx, {64, 64, 64}, {0, 0, 0, 0, 0, 1, false})};
constexpr ckgen::Defaults mx_defaults[] = {{ckgen::Arch::gfx950, tiny::first, 1}};
constexpr ckgen::SignatureUnit mx_unit{
    "gemm_fp4_bf16_rcr_mx", mx, mx_instances, 1, nullptr, 0, nullptr, 0, mx_defaults, 1};
constexpr const ckgen::SignatureUnit* mx_units[] = {&mx_unit};
constexpr ckgen::Library mx_library{"tiny_mx", CKGEN_RUNTIME_ABI, 0x1234, mx_units, 1};

}  // namespace

extern "C" const void* ckgen_tiny_mx_library(void) {
  return &mx_library;
}

// GPU code that can be attached and listed; nothing here launches it.
namespace {

ckgen::Status prepare(const ckgen::Launch&, ckgen::Arch, std::uint32_t, ckgen::KernelCall&) noexcept {
  return ckgen::Status::error(ckgen::StatusCode::unsupported, "not to be launched");
}

constexpr unsigned char bytes[] = {0};
constexpr ckgen::CodeObject objects[] = {{ckgen::Arch::gfx950, bytes, 1, 1}, {ckgen::Arch::gfx942, bytes, 1, 1}};
constexpr ckgen::DeviceCode code{2, prepare, objects, 2, nullptr};
constexpr const ckgen::DeviceCode* codes[] = {&code};
constexpr ckgen::DeviceLibrary device_library{"tiny_gpu", CKGEN_RUNTIME_ABI, codes, 1};

}  // namespace

extern "C" const void* ckgen_tiny_gpu_device_library() {
  return &device_library;
}
