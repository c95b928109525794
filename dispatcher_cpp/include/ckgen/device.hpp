// Where a problem is to run: the arch, the compute-unit count and the product decide, nothing in the environment does.
#pragma once

#include <cstdint>
#include <string_view>

#include <ckgen/export.h>
#include <ckgen/arch_data.hpp>
#include <ckgen/status.hpp>

namespace ckgen {
inline namespace v1 {

enum class DeviceKind : std::uint8_t {
  unknown,    // an arch that this build does not know: status() says which
  simulated,  // answers like that chip, runs the host twins
  host,       // this CPU
  gpu,        // a real GPU, behind HIP or NVIDIA's driver
};

/// A small value, copyable, trivially destructible. `cu_num` is the multiprocessors that HIP or CUDA reports; cores on
/// a CPU.
class CKGEN_API Device {
 public:
  /// "gfx942" with its default count when `cu_num` is 0, "gfx942:304", or "gfx942:304:mi325x" of one product. Any known
  /// arch, CPUs too.
  static Device simulated(std::string_view target, std::uint32_t cu_num = 0) noexcept;

  /// This CPU: the best x86 level that cpuid offers, its cores, its brand, and its product where arch specs know it.
  static Device host() noexcept;

  /// The calling thread's current HIP device, else its CUDA device, asked anew on each call. The host where neither
  /// answers; note() then says why. The runtimes are found by the dynamic loader as libamdhip64.so and libcuda.so.1, or
  /// are the files that CKGEN_HIP_LIBRARY and CKGEN_CUDA_LIBRARY name when the first call is made. Thread-safe.
  static Device current() noexcept;

  Arch arch() const noexcept { return arch_; }
  std::uint32_t cu_num() const noexcept { return cu_num_; }
  /// The product, where it is known, as in "mi325x"; else "": rows of tables answer it that name none.
  const char* sku() const noexcept;
  /// The number of the product of that arch and count, 0 where none is known.
  std::uint16_t product() const noexcept { return product_; }
  DeviceKind kind() const noexcept { return kind_; }
  /// The runtime's device id of a GPU, else -1.
  int id() const noexcept { return id_; }
  /// The arch's name, also of an unknown one.
  const char* gfx() const noexcept { return gfx_; }
  /// The CPU's brand on the host, a GPU's product as its runtime names it, else "".
  const char* brand() const noexcept { return brand_; }
  /// Why current() answered with the host, else "".
  const char* note() const noexcept { return note_; }
  explicit operator bool() const noexcept { return kind_ != DeviceKind::unknown; }
  Status status() const noexcept;

 private:
  Arch arch_{};
  DeviceKind kind_ = DeviceKind::unknown;
  std::uint16_t product_ = 0;
  int id_ = -1;
  std::uint32_t cu_num_ = 0;
  char gfx_[40] = {};
  char brand_[72] = {};
  char note_[160] = {};
};

}  // namespace v1
}  // namespace ckgen
