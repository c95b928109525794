// Streams, events and captures. Streams run each operation when it is submitted: all of them together are one order,
// which any program that orders its work correctly must accept.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "hip_abi.hpp"
#include "operation.hpp"

namespace ckgen::shim {

struct Stream;

/// How many operations of each stream have happened before, as far as waits say so.
using Clock = std::map<const Stream*, std::uint64_t>;

struct Capture {
  const Stream* origin = nullptr;
  int mode = kGlobalMode;
  std::thread::id thread;
  bool valid = true;
  Operations operations;
};

struct Stream {
  bool blocking = true;              // the default stream waits for it
  int failure = kSuccess;            // of its operations since it was synchronised last
  std::shared_ptr<Capture> capture;  // that it is part of
  Clock seen;                        // in the capture, its own operations too
};

struct Event {
  bool recorded = false;
  std::chrono::steady_clock::time_point at;
  std::shared_ptr<Capture> capture;  // in which it was recorded last
  Clock seen;
};

/// Every function answers with an Error. A null stream is the default one. Thread-safe.
class Streams {
 public:
  using Perform = std::function<int(const Operation&)>;

  explicit Streams(Perform perform) : perform_(std::move(perform)) {}

  Stream* create(bool blocking);
  int destroy(Stream* stream);
  /// Records the operation if the stream is being captured, else does it.
  int submit(Stream* stream, const Operation& operation);
  /// What has failed on the stream since it was synchronised last.
  int synchronize(Stream* stream);
  int synchronize_all();
  /// kCaptureUnsupported, and the end of those captures, if a capture forbids this thread what cannot be captured.
  int refuse_in_capture();

  Event* create_event();
  int destroy_event(Event* event);
  int record(Event* event, Stream* stream);
  int wait(Stream* stream, Event* event);
  int query(Event* event);
  int elapsed(float& milliseconds, Event* start, Event* stop);

  int begin_capture(Stream* stream, int mode);
  int end_capture(Stream* stream, Operations& out);
  int capture_status(Stream* stream, int& status);

 private:
  Stream* known(Stream* stream);
  Event* known(Event* event);
  bool blocking_capture() const;

  Perform perform_;
  std::mutex mutex_;
  Stream default_;
  std::map<const void*, std::unique_ptr<Stream>> streams_;
  std::map<const void*, std::unique_ptr<Event>> events_;
};

}  // namespace ckgen::shim
