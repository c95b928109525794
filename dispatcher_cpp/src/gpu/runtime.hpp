// What the dispatcher asks of a vendor's GPU runtime. A vendor is one file that implements it and a line in
// runtime.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ckgen/arch_data.hpp>
#include <ckgen/device.hpp>
#include <ckgen/device_code.hpp>
#include <ckgen/status.hpp>

namespace ckgen::inline v1::detail {

struct GpuProperties {
  char arch[40];  // its name, as arch_specs has it
  std::uint32_t cu_num;
  char product[64];  // its name, as the vendor sells it; empty where the runtime does not say
};

using BusName = char[32];

/// One per process and vendor, opened at first use; nothing is linked, and a machine without it is a plain answer.
/// Thread-safe. Every Status names the call that failed. Devices, modules, kernels and streams are the vendor's own.
class GpuRuntime {
 public:
  GpuRuntime(const GpuRuntime&) = delete;
  GpuRuntime& operator=(const GpuRuntime&) = delete;

  virtual Vendor vendor() const noexcept = 0;
  /// As messages say it: "HIP".
  virtual const char* name() const noexcept = 0;

  /// The calling thread's; no_device where the runtime or a device is not there.
  virtual Status current_device(int& id) const noexcept = 0;
  /// Asked once per id.
  virtual Status properties(int id, GpuProperties& out) const noexcept = 0;
  virtual Status synchronize(void* stream) const noexcept = 0;
  /// Another number for each stream that ever was, as addresses are used again; 0 where none is told, as of a stream
  /// that is being captured, which must not be asked.
  virtual Status stream_id(void* stream, std::uint64_t& id) const noexcept = 0;
  virtual Status allocate(std::size_t bytes, void** out) const noexcept = 0;
  virtual Status release(void* memory) const noexcept = 0;
  /// Copies to and from memory of the device, behind what its default stream does, and returns when that is done.
  virtual Status upload(void* to, const void* from, std::size_t bytes) const noexcept = 0;
  virtual Status download(void* to, const void* from, std::size_t bytes) const noexcept = 0;
  /// The version of the driver as the vendor counts, 13000 of CUDA 13.0; 0 where it does not say.
  virtual Status driver(int& version) const noexcept = 0;
  /// Where on the machine's bus a device is, as the vendor writes it; empty where it does not say.
  virtual Status bus(int id, BusName& out) const noexcept = 0;

  /// `image`: a code object, which must outlive the module. Loads onto the thread's current device.
  virtual Status load_module(const void* image, void** module) const noexcept = 0;
  virtual Status unload_module(void* module) const noexcept = 0;
  /// A kernel of a module by its name.
  virtual Status kernel(void* module, const char* symbol, void** function) const noexcept = 0;
  virtual Status zero(const Clear& clear, void* stream) const noexcept = 0;
  /// `call` as it is: limits are the caller's to check.
  virtual Status launch(void* function, const KernelCall& call, void* stream) const noexcept = 0;

  /// Events of the thread's current device, by which it times what lies between them.
  virtual Status create_event(void** event) const noexcept = 0;
  virtual Status release_event(void* event) const noexcept = 0;
  virtual Status record(void* event, void* stream) const noexcept = 0;
  /// Waits for `end`.
  virtual Status elapsed(void* begin, void* end, double& microseconds) const noexcept = 0;

  /// A stream of the thread's current device, whose default stream waits for it and is waited for.
  virtual Status create_stream(void** stream) const noexcept = 0;
  virtual Status release_stream(void* stream) const noexcept = 0;
  /// What the stream is told from here on is kept as a graph, and done when that is launched.
  virtual Status begin_capture(void* stream) const noexcept = 0;
  virtual Status end_capture(void* stream, void** graph) const noexcept = 0;
  /// Into the graph that is captured: the event is recorded there at each launch of it.
  virtual Status capture_event(void* event, void* stream) const noexcept = 0;
  virtual Status launch_graph(void* graph, void* stream) const noexcept = 0;
  virtual Status release_graph(void* graph) const noexcept = 0;

 protected:
  GpuRuntime() = default;
  ~GpuRuntime() = default;
};

/// Every vendor's, in the order in which a process is asked for its current device: the first that has one answers, so
/// where both vendors' devices are, AMD's. The variable that names a vendor's library takes it away by naming no file.
std::span<const GpuRuntime* const> gpu_runtimes() noexcept;

/// The runtime of a GPU; null for every other kind of device, for which none is looked for.
const GpuRuntime* runtime_of(const Device& device) noexcept;

/// Zeroes C as a prepared call of a launch asks.
using ClearFn = Status (*)(const GpuRuntime&, const KernelCall&, const Launch&) noexcept;
/// KernelCall::clear.
Status clear_output(const GpuRuntime& runtime, const KernelCall& call, const Launch& launch) noexcept;

}  // namespace ckgen::inline v1::detail
