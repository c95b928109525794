#include "streams.hpp"

#include <algorithm>

namespace ckgen::shim {
namespace {

void merge(Clock& into, const Clock& from) {
  for (const auto& [stream, count] : from) into[stream] = std::max(into[stream], count);
}

void leave(Stream& stream) {
  stream.capture.reset();
  stream.seen.clear();
}

}  // namespace

Stream* Streams::known(Stream* stream) {
  if (stream == nullptr) return &default_;
  return streams_.count(stream) != 0 ? stream : nullptr;
}

Event* Streams::known(Event* event) {
  return events_.count(event) != 0 ? event : nullptr;
}

bool Streams::blocking_capture() const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const auto& entry) { return entry.second->capture && entry.second->blocking; });
}

Stream* Streams::create(bool blocking) {
  auto stream = std::make_unique<Stream>();
  stream->blocking = blocking;
  Stream* handle = stream.get();
  const std::lock_guard lock(mutex_);
  streams_.emplace(handle, std::move(stream));
  return handle;
}

int Streams::destroy(Stream* stream) {
  const std::lock_guard lock(mutex_);
  if (stream == nullptr || known(stream) == nullptr) return kInvalidHandle;
  if (stream->capture) {
    stream->capture->valid = false;
    return kCaptureUnsupported;
  }
  streams_.erase(stream);
  return kSuccess;
}

int Streams::submit(Stream* stream, const Operation& operation) {
  {
    const std::lock_guard lock(mutex_);
    stream = known(stream);
    if (stream == nullptr) return kInvalidHandle;
    if (Capture* capture = stream->capture.get()) {
      if (!capture->valid) return kCaptureInvalidated;
      capture->operations.push_back(operation);
      ++stream->seen[stream];
      return kSuccess;
    }
    if (stream == &default_ && blocking_capture()) {
      for (const auto& [handle, other] : streams_) {
        if (other->capture && other->blocking) other->capture->valid = false;
      }
      return kCaptureImplicit;
    }
  }
  const int error = perform_(operation);
  if (error == kLaunchFailure) {
    const std::lock_guard lock(mutex_);
    if (Stream* still = known(stream == &default_ ? nullptr : stream)) still->failure = error;
  }
  return error;
}

int Streams::synchronize(Stream* stream) {
  const std::lock_guard lock(mutex_);
  stream = known(stream);
  if (stream == nullptr) return kInvalidHandle;
  if (stream->capture) {
    stream->capture->valid = false;
    return kCaptureUnsupported;
  }
  return std::exchange(stream->failure, kSuccess);
}

int Streams::synchronize_all() {
  if (const int error = refuse_in_capture(); error != kSuccess) return error;
  const std::lock_guard lock(mutex_);
  int failure = std::exchange(default_.failure, kSuccess);
  for (const auto& [handle, stream] : streams_) {
    const int error = std::exchange(stream->failure, kSuccess);
    if (failure == kSuccess) failure = error;
  }
  return failure;
}

int Streams::refuse_in_capture() {
  const std::lock_guard lock(mutex_);
  int error = kSuccess;
  for (const auto& [handle, stream] : streams_) {
    Capture* capture = stream->capture.get();
    const bool forbids = capture != nullptr && capture->mode != kRelaxedMode &&
                         (capture->mode == kGlobalMode || capture->thread == std::this_thread::get_id());
    if (!forbids) continue;
    capture->valid = false;
    error = kCaptureUnsupported;
  }
  return error;
}

Event* Streams::create_event() {
  auto event = std::make_unique<Event>();
  Event* handle = event.get();
  const std::lock_guard lock(mutex_);
  events_.emplace(handle, std::move(event));
  return handle;
}

int Streams::destroy_event(Event* event) {
  const std::lock_guard lock(mutex_);
  return events_.erase(event) != 0 ? kSuccess : kInvalidHandle;
}

int Streams::record(Event* event, Stream* stream) {
  const std::lock_guard lock(mutex_);
  stream = known(stream);
  if (known(event) == nullptr || stream == nullptr) return kInvalidHandle;
  if (stream->capture && !stream->capture->valid) return kCaptureInvalidated;
  event->recorded = true;
  event->at = std::chrono::steady_clock::now();
  event->capture = stream->capture;
  event->seen = stream->seen;
  return kSuccess;
}

int Streams::wait(Stream* stream, Event* event) {
  const std::lock_guard lock(mutex_);
  stream = known(stream);
  if (known(event) == nullptr || stream == nullptr) return kInvalidHandle;
  if (!event->capture) return kSuccess;  // what it stands for has happened
  if (!event->capture->valid) return kCaptureInvalidated;
  if (stream == &default_) return kCaptureImplicit;
  if (stream->capture && stream->capture != event->capture) return kCaptureMerge;
  stream->capture = event->capture;
  merge(stream->seen, event->seen);
  return kSuccess;
}

int Streams::query(Event* event) {
  const std::lock_guard lock(mutex_);
  if (known(event) == nullptr) return kInvalidHandle;
  return event->capture ? kCapturedEvent : kSuccess;
}

int Streams::elapsed(float& milliseconds, Event* start, Event* stop) {
  const std::lock_guard lock(mutex_);
  if (known(start) == nullptr || known(stop) == nullptr || !start->recorded || !stop->recorded) return kInvalidHandle;
  if (start->capture || stop->capture) return kCapturedEvent;
  milliseconds = std::chrono::duration<float, std::milli>(stop->at - start->at).count();
  return kSuccess;
}

int Streams::begin_capture(Stream* stream, int mode) {
  const std::lock_guard lock(mutex_);
  if (mode < kGlobalMode || mode > kRelaxedMode) return kInvalidValue;
  if (stream == nullptr) return kCaptureUnsupported;
  if (known(stream) == nullptr) return kInvalidHandle;
  if (stream->capture) return kInvalidValue;
  auto capture = std::make_shared<Capture>();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  stream->capture = std::move(capture);
  return kSuccess;
}

int Streams::end_capture(Stream* stream, Operations& out) {
  const std::lock_guard lock(mutex_);
  if (stream == nullptr || known(stream) == nullptr) return kInvalidHandle;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (!capture) return kInvalidValue;
  if (capture->origin != stream) return kCaptureUnmatched;
  int error = capture->valid ? kSuccess : kCaptureInvalidated;
  for (const auto& [handle, other] : streams_) {
    if (other->capture != capture || other.get() == stream) continue;
    if (error == kSuccess && other->seen[other.get()] != stream->seen[other.get()]) error = kCaptureUnjoined;
    leave(*other);
  }
  leave(*stream);
  capture->valid = false;
  if (error == kSuccess) out = std::move(capture->operations);
  return error;
}

int Streams::capture_status(Stream* stream, int& status) {
  const std::lock_guard lock(mutex_);
  stream = known(stream);
  if (stream == nullptr) return kInvalidHandle;
  if (stream == &default_ && blocking_capture()) return kCaptureImplicit;
  status = !stream->capture ? kNotCapturing : stream->capture->valid ? kCapturing : kInvalidated;
  return kSuccess;
}

}  // namespace ckgen::shim
