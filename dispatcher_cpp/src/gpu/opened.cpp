#include "src/gpu/opened.hpp"

namespace ckgen::inline v1::detail {
namespace {

// CUDA and HIP number these alike.
constexpr unsigned kWaitsForDefault = 0;  // of a stream
constexpr int kRelaxedCapture = 2;       // other calls of the thread are none of its business, such as loads of modules
constexpr unsigned kRecordExternal = 1;  // of an event in a capture: a node, rather than an end of it

}  // namespace

void OpenedRuntime::find_graphs(void* library) noexcept {
  const auto find_in = [library](auto& of) { static_cast<void>(find(library, of.name, of.call)); };
  find_in(graphs_.create_stream);
  find_in(graphs_.release_stream);
  find_in(graphs_.begin_capture);
  find_in(graphs_.end_capture);
  find_in(graphs_.instantiate);
  find_in(graphs_.release_captured);
  find_in(graphs_.record);
  find_in(graphs_.launch);
  find_in(graphs_.release);
}

Status OpenedRuntime::create_stream(void** stream) const noexcept {
  return asked(graphs_.create_stream, stream, kWaitsForDefault);
}

Status OpenedRuntime::release_stream(void* stream) const noexcept {
  return asked(graphs_.release_stream, stream);
}

Status OpenedRuntime::begin_capture(void* stream) const noexcept {
  return asked(graphs_.begin_capture, stream, kRelaxedCapture);
}

Status OpenedRuntime::end_capture(void* stream, void** graph) const noexcept {
  void* captured = nullptr;
  if (const Status ended = asked(graphs_.end_capture, stream, &captured); !ended.ok()) return ended;
  const Status made = asked(graphs_.instantiate, graph, captured, 0ULL);
  const Status released = asked(graphs_.release_captured, captured);
  return made.ok() ? released : made;
}

Status OpenedRuntime::capture_event(void* event, void* stream) const noexcept {
  return asked(graphs_.record, event, stream, kRecordExternal);
}

Status OpenedRuntime::launch_graph(void* graph, void* stream) const noexcept {
  return asked(graphs_.launch, graph, stream);
}

Status OpenedRuntime::release_graph(void* graph) const noexcept {
  return asked(graphs_.release, graph);
}

}  // namespace ckgen::inline v1::detail
