// The mock's streams, captures, graphs and events.
#include <utility>

#include "record.hpp"

using namespace mock_cuda;

namespace {

struct Executable {
  Work work;
  bool is_replay;  // what is launched next; the first launch takes as long as one by one
};

/// In half milliseconds; the record is locked.
int now() {
  return 2 * (record.counts.launches + record.counts.clears) - record.replayed;
}

}  // namespace

extern "C" {

int cuStreamSynchronize(void*) {
  const std::lock_guard lock(record.mutex);
  return refused("cuStreamSynchronize");
}

int cuStreamIsCapturing(void* stream, int* status) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuStreamIsCapturing")) return code;
  *status = static_cast<int>(record.captures.count(stream));
  return 0;
}

int cuStreamGetId(void* stream, unsigned long long* id) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuStreamGetId")) return code;
  if (record.captures.count(stream) != 0) return kCaptureUnsupported;
  const auto address = reinterpret_cast<std::uint64_t>(stream);
  *id = address == 2 ? number_of_thread() : address < 2 ? address : address + record.renewals;
  return 0;
}

// An event is a time in half milliseconds: of launches and clears before it each takes two, of a graph's replay one.
int cuEventCreate(void** event, unsigned) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuEventCreate")) return code;
  *event = new int(-1);
  ++record.counts.events;
  return 0;
}

int cuEventDestroy_v2(void* event) {
  const std::lock_guard lock(record.mutex);
  delete static_cast<int*>(event);
  --record.counts.events;
  return 0;
}

int cuEventRecord(void* event, void* stream) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuEventRecord")) return code;
  if (record.captures.count(stream) != 0) return kInvalidValue;  // a node of the graph is wanted
  *static_cast<int*>(event) = now();
  return 0;
}

int cuEventRecordWithFlags(void* event, void* stream, unsigned flags) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuEventRecordWithFlags")) return code;
  if (flags != 1 || record.captures.count(stream) == 0) return kInvalidValue;
  submit(stream, [event] { *static_cast<int*>(event) = now(); });
  return 0;
}

int cuEventSynchronize(void*) {
  return 0;
}

int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuEventElapsedTime")) return code;
  *milliseconds = static_cast<float>(*static_cast<int*>(end) - *static_cast<int*>(begin)) / 2;
  return 0;
}

int cuStreamCreate(void** stream, unsigned) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuStreamCreate")) return code;
  *stream = new int();
  ++record.counts.streams;
  return 0;
}

int cuStreamDestroy_v2(void* stream) {
  const std::lock_guard lock(record.mutex);
  record.captures.erase(stream);
  delete static_cast<int*>(stream);
  --record.counts.streams;
  return 0;
}

int cuStreamBeginCapture_v2(void* stream, int) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuStreamBeginCapture_v2")) return code;
  return stream != nullptr && record.captures.emplace(stream, Work()).second ? 0 : kIllegalState;
}

int cuStreamEndCapture(void* stream, void** graph) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuStreamEndCapture")) return code;
  const auto capture = record.captures.find(stream);
  if (capture == record.captures.end()) return kIllegalState;
  *graph = new Work(std::move(capture->second));
  record.captures.erase(capture);
  ++record.counts.graphs;
  return 0;
}

int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuGraphInstantiateWithFlags")) return code;
  *executable = new Executable{*static_cast<Work*>(graph), false};
  ++record.counts.graphs;
  return 0;
}

int cuGraphDestroy(void* graph) {
  const std::lock_guard lock(record.mutex);
  delete static_cast<Work*>(graph);
  --record.counts.graphs;
  return 0;
}

int cuGraphExecDestroy(void* executable) {
  const std::lock_guard lock(record.mutex);
  delete static_cast<Executable*>(executable);
  --record.counts.graphs;
  return 0;
}

int cuGraphLaunch(void* executable, void*) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuGraphLaunch")) return code;
  Executable& graph = *static_cast<Executable*>(executable);
  for (const std::function<void()>& work : graph.work) {
    const int before = record.counts.launches + record.counts.clears;
    work();
    if (graph.is_replay) record.replayed += record.counts.launches + record.counts.clears - before;
  }
  graph.is_replay = true;
  return 0;
}

void mock_cuda_renew_streams() {
  const std::lock_guard lock(record.mutex);
  ++record.renewals;
}

}  // extern "C"
