#include "runtime.hpp"

#include <cstdio>
#include <cstring>
#include <exception>

namespace ckgen::shim {
namespace {

thread_local int last = kSuccess;

bool ours(Place place) {
  return place == Place::device || place == Place::pinned;
}

Runtime* made() noexcept {
  try {
    return new Runtime(read_settings());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ckgen emulator: %s\n", error.what());
    return nullptr;
  }
}

}  // namespace

int answer(int error) noexcept {
  if (error != kSuccess) last = error;
  return error;
}

int last_error(bool clear) noexcept {
  const int error = last;
  if (clear) last = kSuccess;
  return error;
}

Runtime* Runtime::instance() noexcept {
  static Runtime* const runtime = made();
  return runtime;
}

Runtime::Runtime(Settings from)
    : settings(std::move(from)),
      executor(settings),
      heap(executor),
      report(settings.report),
      streams([this](const Operation& operation) { return perform(operation); }) {}

int Runtime::perform(const Operation& operation) {
  return std::visit([this](const auto& one) { return run(one); }, operation);
}

int Runtime::run(const LaunchOperation& launch) {
  const std::shared_ptr<LoadedModule> module = launch.module.lock();
  if (!module) return kInvalidHandle;
  const KernelInfo& kernel = module->kernels()[launch.kernel];
  const LaunchOutcome outcome = executor.launch(*module, kernel, launch.dispatch);
  report.add(kernel.name, launch.dispatch, outcome);
  if (!outcome.ran) std::fprintf(stderr, "ckgen emulator: %s: %s\n", kernel.name.c_str(), outcome.error.c_str());
  const bool passes = outcome.findings.empty() || !executor.findings_fail();
  return outcome.ran && passes ? kSuccess : kLaunchFailure;
}

int Runtime::run(const FillOperation& fill) {
  if (fill.width == 0 || fill.rows == 0) return kSuccess;
  if (fill.pitch < fill.width && fill.rows > 1) return kInvalidValue;
  const std::size_t extent = (fill.rows - 1) * fill.pitch + fill.width;
  if (!ours(heap.place_of(fill.memory, extent))) return kInvalidValue;
  for (std::size_t row = 0; row < fill.rows; ++row) {
    char* start = static_cast<char*>(fill.memory) + row * fill.pitch;
    std::memset(start, fill.value, fill.width);
    heap.mark_written(start, fill.width);
  }
  return kSuccess;
}

int Runtime::run(const CopyOperation& copy) {
  if (copy.bytes == 0) return kSuccess;
  if (copy.to == nullptr || copy.from == nullptr) return kInvalidValue;
  const Place to = heap.place_of(copy.to, copy.bytes);
  const Place from = heap.place_of(copy.from, copy.bytes);
  if (to == Place::outside || from == Place::outside) return kInvalidValue;
  const bool to_device = copy.kind == kHostToDevice || copy.kind == kDeviceToDevice;
  const bool from_device = copy.kind == kDeviceToHost || copy.kind == kDeviceToDevice;
  if (copy.kind < kHostToHost || copy.kind > kAnyToAny) return kInvalidMemcpyDirection;
  if ((to_device && !ours(to)) || (from_device && !ours(from))) return kInvalidDevicePointer;
  std::memmove(copy.to, copy.from, copy.bytes);
  heap.mark_written(copy.to, copy.bytes);
  return kSuccess;
}

}  // namespace ckgen::shim
