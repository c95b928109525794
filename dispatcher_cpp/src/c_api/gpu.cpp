// The C API's memory, events and graphs of a GPU.
#include <cstdio>

#include <ckgen/c_api_gpu.h>

#include "src/c_api/support.hpp"
#include "src/gpu/runtime.hpp"

using ckgen::v1::detail::answer;
using ckgen::v1::detail::BusName;
using ckgen::v1::detail::given;
using ckgen::v1::detail::GpuRuntime;
using ckgen::v1::detail::guarded;
using ckgen::v1::detail::ok;
using ckgen::v1::detail::runtime_of;
using ckgen::v1::detail::write;

struct ckgen_event {
  const GpuRuntime* runtime;
  void* handle;
};

struct ckgen_graph {
  const GpuRuntime* runtime;
  void* handle;
};

namespace {

/// What `call` answers of the device's runtime; no_device where it has none.
template <class Call>
ckgen_status on_gpu(const ckgen_device* device, const ckgen_message& message, Call call) noexcept {
  if (!given(message, device)) return CKGEN_INVALID_ARGUMENT;
  const GpuRuntime* runtime = runtime_of(device->value);
  if (runtime == nullptr)
    return answer(ckgen::Status::error(ckgen::StatusCode::no_device, "%s is no GPU", device->value.gfx()), message);
  return answer(call(*runtime), message);
}

/// What `make` makes of the device's runtime, as the C API has it; `release` lets it go where there is no memory.
template <class Made, class Make, class Release>
ckgen_status made_on_gpu(const ckgen_device* device, Made** out, const ckgen_message& message, Make make,
                         Release release) noexcept {
  if (!given(message, out)) return CKGEN_INVALID_ARGUMENT;
  void* handle = nullptr;
  const ckgen_status status =
      on_gpu(device, message, [&](const GpuRuntime& runtime) { return make(runtime, &handle); });
  if (status != CKGEN_OK) return status;
  const GpuRuntime& runtime = *runtime_of(device->value);
  const ckgen_status kept = guarded(message, [&] {
    *out = new Made{&runtime, handle};
    return ok(message);
  });
  if (kept != CKGEN_OK) static_cast<void>(release(runtime, handle));
  return kept;
}

}  // namespace

extern "C" {

ckgen_status ckgen_gpu_driver(const ckgen_device* device, ckgen_message text) {
  char found[40] = {};
  const ckgen_status status = on_gpu(device, text, [&](const GpuRuntime& runtime) {
    int version = 0;
    const ckgen::Status asked = runtime.driver(version);
    std::snprintf(found, sizeof found, "%s %d", runtime.name(), version);
    return asked;
  });
  if (status == CKGEN_OK) write(text, found);
  return status;
}

ckgen_status ckgen_gpu_bus(const ckgen_device* device, ckgen_message text) {
  BusName found = {};
  const ckgen_status status =
      on_gpu(device, text, [&](const GpuRuntime& runtime) { return runtime.bus(device->value.id(), found); });
  if (status == CKGEN_OK) write(text, found);
  return status;
}

ckgen_status ckgen_gpu_allocate(const ckgen_device* device, uint64_t bytes, void** out, ckgen_message message) {
  if (!given(message, out)) return CKGEN_INVALID_ARGUMENT;
  return on_gpu(device, message, [&](const GpuRuntime& runtime) { return runtime.allocate(bytes, out); });
}

ckgen_status ckgen_gpu_release(const ckgen_device* device, void* memory, ckgen_message message) {
  return on_gpu(device, message, [&](const GpuRuntime& runtime) { return runtime.release(memory); });
}

ckgen_status ckgen_gpu_upload(const ckgen_device* device, void* to, const void* from, uint64_t bytes,
                              ckgen_message message) {
  if (bytes != 0 && !given(message, to, from)) return CKGEN_INVALID_ARGUMENT;
  return on_gpu(device, message, [&](const GpuRuntime& runtime) { return runtime.upload(to, from, bytes); });
}

ckgen_status ckgen_gpu_download(const ckgen_device* device, void* to, const void* from, uint64_t bytes,
                                ckgen_message message) {
  if (bytes != 0 && !given(message, to, from)) return CKGEN_INVALID_ARGUMENT;
  return on_gpu(device, message, [&](const GpuRuntime& runtime) { return runtime.download(to, from, bytes); });
}

ckgen_status ckgen_gpu_synchronize(const ckgen_device* device, void* stream, ckgen_message message) {
  return on_gpu(device, message, [&](const GpuRuntime& runtime) { return runtime.synchronize(stream); });
}

ckgen_status ckgen_event_create(const ckgen_device* device, ckgen_event** out, ckgen_message message) {
  return made_on_gpu(
      device, out, message, [](const GpuRuntime& runtime, void** handle) { return runtime.create_event(handle); },
      [](const GpuRuntime& runtime, void* handle) { return runtime.release_event(handle); });
}

void ckgen_event_destroy(ckgen_event* event) {
  if (event != nullptr) static_cast<void>(event->runtime->release_event(event->handle));
  delete event;
}

ckgen_status ckgen_event_record(ckgen_event* event, void* stream, ckgen_message message) {
  if (!given(message, event)) return CKGEN_INVALID_ARGUMENT;
  return answer(event->runtime->record(event->handle, stream), message);
}

ckgen_status ckgen_event_elapsed(const ckgen_event* begin, const ckgen_event* end, double* microseconds,
                                 ckgen_message message) {
  if (!given(message, begin, end, microseconds)) return CKGEN_INVALID_ARGUMENT;
  return answer(begin->runtime->elapsed(begin->handle, end->handle, *microseconds), message);
}

ckgen_status ckgen_stream_create(const ckgen_device* device, void** stream, ckgen_message message) {
  if (!given(message, stream)) return CKGEN_INVALID_ARGUMENT;
  return on_gpu(device, message, [&](const GpuRuntime& runtime) { return runtime.create_stream(stream); });
}

ckgen_status ckgen_stream_destroy(const ckgen_device* device, void* stream, ckgen_message message) {
  if (!given(message, stream)) return CKGEN_INVALID_ARGUMENT;
  return on_gpu(device, message, [&](const GpuRuntime& runtime) { return runtime.release_stream(stream); });
}

ckgen_status ckgen_capture_begin(const ckgen_device* device, void* stream, ckgen_message message) {
  if (!given(message, stream)) return CKGEN_INVALID_ARGUMENT;
  return on_gpu(device, message, [&](const GpuRuntime& runtime) { return runtime.begin_capture(stream); });
}

ckgen_status ckgen_capture_end(const ckgen_device* device, void* stream, ckgen_graph** out, ckgen_message message) {
  if (!given(message, stream)) return CKGEN_INVALID_ARGUMENT;
  return made_on_gpu(
      device, out, message,
      [&](const GpuRuntime& runtime, void** handle) { return runtime.end_capture(stream, handle); },
      [](const GpuRuntime& runtime, void* handle) { return runtime.release_graph(handle); });
}

ckgen_status ckgen_event_capture(ckgen_event* event, void* stream, ckgen_message message) {
  if (!given(message, event, stream)) return CKGEN_INVALID_ARGUMENT;
  return answer(event->runtime->capture_event(event->handle, stream), message);
}

ckgen_status ckgen_graph_launch(ckgen_graph* graph, void* stream, ckgen_message message) {
  if (!given(message, graph)) return CKGEN_INVALID_ARGUMENT;
  return answer(graph->runtime->launch_graph(graph->handle, stream), message);
}

void ckgen_graph_destroy(ckgen_graph* graph) {
  if (graph != nullptr) static_cast<void>(graph->runtime->release_graph(graph->handle));
  delete graph;
}

}  // extern "C"
