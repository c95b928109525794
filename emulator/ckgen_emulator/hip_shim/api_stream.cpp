// HIP's functions: streams, events, captures, graphs.
#include <cstddef>
#include <memory>
#include <utility>

#include "runtime.hpp"

using namespace ckgen::shim;

namespace {

Stream* stream_of(void* handle) {
  return static_cast<Stream*>(handle);
}

Event* event_of(void* handle) {
  return static_cast<Event*>(handle);
}

int create_stream(void** stream, unsigned flags) {
  return with_runtime([&](Runtime& runtime) {
    if (stream == nullptr || flags > kNonBlocking) return kInvalidValue;
    *stream = runtime.streams.create(flags != kNonBlocking);
    return kSuccess;
  });
}

int create_event(void** event) {
  return with_runtime([&](Runtime& runtime) {
    if (event == nullptr) return kInvalidValue;
    *event = runtime.streams.create_event();
    return kSuccess;
  });
}

int instantiate(void** executable, void* graph) {
  return with_runtime([&](Runtime& runtime) {
    Graph found;
    if (executable == nullptr) return kInvalidValue;
    if (!runtime.graphs.find(graph, found)) return kInvalidHandle;
    *executable = runtime.executables.add(std::move(found));
    return kSuccess;
  });
}

}  // namespace

CKGEN_HIP int hipStreamCreate(void** stream) {
  return create_stream(stream, 0);
}

CKGEN_HIP int hipStreamCreateWithFlags(void** stream, unsigned flags) {
  return create_stream(stream, flags);
}

CKGEN_HIP int hipStreamDestroy(void* stream) {
  return with_runtime([&](Runtime& runtime) { return runtime.streams.destroy(stream_of(stream)); });
}

CKGEN_HIP int hipStreamSynchronize(void* stream) {
  return with_runtime([&](Runtime& runtime) { return runtime.streams.synchronize(stream_of(stream)); });
}

CKGEN_HIP int hipStreamQuery(void* stream) {
  return with_runtime([&](Runtime& runtime) { return runtime.streams.synchronize(stream_of(stream)); });
}

CKGEN_HIP int hipStreamWaitEvent(void* stream, void* event, unsigned) {
  return with_runtime([&](Runtime& runtime) { return runtime.streams.wait(stream_of(stream), event_of(event)); });
}

CKGEN_HIP int hipEventCreate(void** event) {
  return create_event(event);
}

CKGEN_HIP int hipEventCreateWithFlags(void** event, unsigned) {
  return create_event(event);
}

CKGEN_HIP int hipEventDestroy(void* event) {
  return with_runtime([&](Runtime& runtime) { return runtime.streams.destroy_event(event_of(event)); });
}

CKGEN_HIP int hipEventRecord(void* event, void* stream) {
  return with_runtime([&](Runtime& runtime) { return runtime.streams.record(event_of(event), stream_of(stream)); });
}

CKGEN_HIP int hipEventSynchronize(void* event) {
  return with_runtime([&](Runtime& runtime) { return runtime.streams.query(event_of(event)); });
}

CKGEN_HIP int hipEventQuery(void* event) {
  return with_runtime([&](Runtime& runtime) { return runtime.streams.query(event_of(event)); });
}

CKGEN_HIP int hipEventElapsedTime(float* milliseconds, void* start, void* stop) {
  return with_runtime([&](Runtime& runtime) -> int {
    if (milliseconds == nullptr) return kInvalidValue;
    return runtime.streams.elapsed(*milliseconds, event_of(start), event_of(stop));
  });
}

CKGEN_HIP int hipStreamBeginCapture(void* stream, int mode) {
  return with_runtime([&](Runtime& runtime) { return runtime.streams.begin_capture(stream_of(stream), mode); });
}

CKGEN_HIP int hipStreamEndCapture(void* stream, void** graph) {
  return with_runtime([&](Runtime& runtime) -> int {
    if (graph == nullptr) return kInvalidValue;
    *graph = nullptr;
    auto operations = std::make_shared<Operations>();
    if (const int error = runtime.streams.end_capture(stream_of(stream), *operations); error != kSuccess) return error;
    *graph = runtime.graphs.add({std::move(operations)});
    return kSuccess;
  });
}

CKGEN_HIP int hipStreamIsCapturing(void* stream, int* status) {
  return with_runtime([&](Runtime& runtime) -> int {
    return status != nullptr ? runtime.streams.capture_status(stream_of(stream), *status) : kInvalidValue;
  });
}

CKGEN_HIP int hipGraphInstantiate(void** executable, void* graph, void*, char*, std::size_t) {
  return instantiate(executable, graph);
}

CKGEN_HIP int hipGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  return instantiate(executable, graph);
}

CKGEN_HIP int hipGraphLaunch(void* executable, void* stream) {
  return with_runtime([&](Runtime& runtime) -> int {
    Graph found;
    if (!runtime.executables.find(executable, found)) return kInvalidHandle;
    for (const Operation& operation : *found.operations) {
      if (const int error = runtime.streams.submit(stream_of(stream), operation); error != kSuccess) return error;
    }
    return kSuccess;
  });
}

CKGEN_HIP int hipGraphDestroy(void* graph) {
  return with_runtime([&](Runtime& runtime) { return runtime.graphs.remove(graph) ? kSuccess : kInvalidHandle; });
}

CKGEN_HIP int hipGraphExecDestroy(void* executable) {
  return with_runtime(
      [&](Runtime& runtime) { return runtime.executables.remove(executable) ? kSuccess : kInvalidHandle; });
}
