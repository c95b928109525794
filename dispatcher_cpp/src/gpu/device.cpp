#include <ckgen/device.hpp>

#include <algorithm>
#include <charconv>

#include <ckgen/product_data.hpp>

#include "backends/host/gemm/gemm.hpp"
#include "src/gpu/runtime.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

template <std::size_t N>
void copy_text(char (&out)[N], std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), N - 1);
  std::copy_n(text.data(), length, out);
  out[length] = '\0';
}

}  // namespace

Device Device::simulated(std::string_view target, std::uint32_t cu_num) noexcept {
  Device device;
  const std::size_t colon = target.find(':');
  copy_text(device.gfx_, target.substr(0, colon));
  device.arch_ = find_arch(target.substr(0, colon));
  bool is_target = true;
  if (colon != std::string_view::npos) {
    const std::string_view rest = target.substr(colon + 1), count = rest.substr(0, rest.find(':'));
    const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), cu_num);
    is_target = error == std::errc{} && end == count.data() + count.size() && cu_num != 0;
    if (count.size() != rest.size()) {
      device.product_ = find_product(device.arch_, cu_num, rest.substr(count.size() + 1));
      is_target = is_target && device.product_ != 0;
    }
  }
  if (!is_target) copy_text(device.gfx_, target);
  if (!is_target || device.arch_ == Arch::unknown) return device;
  device.kind_ = DeviceKind::simulated;
  device.cu_num_ = cu_num != 0 ? cu_num : static_cast<std::uint32_t>(arch_info(device.arch_).default_cu_num);
  return device;
}

const char* Device::sku() const noexcept {
  return product_sku(product_);
}

Device Device::host() noexcept {
  Device device = simulated(host::isa_name(host::detect_isa()), static_cast<std::uint32_t>(host::core_count()));
  if (!device) return device;
  device.kind_ = DeviceKind::host;
  copy_text(device.brand_, host::cpu_brand());
  device.product_ = find_product_of_driver(device.arch_, device.cu_num_, host::cpu_model());
  return device;
}

Device Device::current() noexcept {
  Status why = Status::success();
  for (const detail::GpuRuntime* runtime : detail::gpu_runtimes()) {
    int id = -1;
    detail::GpuProperties properties{};
    Status status = runtime->current_device(id);
    if (status.ok()) status = runtime->properties(id, properties);
    if (!status.ok()) {
      if (why.ok()) why = status;
      continue;
    }
    Device device;
    copy_text(device.gfx_, properties.arch);
    copy_text(device.brand_, properties.product);
    device.id_ = id;
    device.cu_num_ = properties.cu_num;
    device.arch_ = find_arch(properties.arch);
    device.product_ = find_product_of_driver(device.arch_, device.cu_num_, device.brand_);
    if (device.arch_ != Arch::unknown) device.kind_ = DeviceKind::gpu;
    return device;
  }
  Device device = host();
  copy_text(device.note_, why.message);
  return device;
}

Status Device::status() const noexcept {
  if (kind_ != DeviceKind::unknown) return Status::success();
  return Status::error(StatusCode::no_device, "ckgen knows no arch or target '%s'", gfx_);
}

}  // namespace v1
}  // namespace ckgen
