// What files that open a vendor's GPU runtime have in common.
#pragma once

#include <dlfcn.h>

#include <array>
#include <mutex>
#include <type_traits>

#include "src/gpu/runtime.hpp"

namespace ckgen::inline v1::detail {

/// A function of a vendor, by the name that messages have of it; null where the library has none.
template <class... Arguments>
struct NamedCall {
  const char* name;
  int (*call)(Arguments...) = nullptr;
};

/// Of streams, captures and graphs, which CUDA and HIP give the same arguments.
struct GraphCalls {
  NamedCall<void**, unsigned> create_stream;
  NamedCall<void*> release_stream;
  NamedCall<void*, int> begin_capture;
  NamedCall<void*, void**> end_capture;
  NamedCall<void**, void*, unsigned long long> instantiate;
  NamedCall<void*> release_captured;
  NamedCall<void*, void*, unsigned> record;
  NamedCall<void*, void*> launch;
  NamedCall<void*> release;
};

/// A runtime whose functions were found in an opened library, or not. Thread-safe.
class OpenedRuntime : public GpuRuntime {
 public:
  Status create_stream(void** stream) const noexcept final;
  Status release_stream(void* stream) const noexcept final;
  Status begin_capture(void* stream) const noexcept final;
  Status end_capture(void* stream, void** graph) const noexcept final;
  Status capture_event(void* event, void* stream) const noexcept final;
  Status launch_graph(void* graph, void* stream) const noexcept final;
  Status release_graph(void* graph) const noexcept final;

 protected:
  explicit OpenedRuntime(const GraphCalls& names) noexcept : status_(Status::success()), graphs_(names) {}
  ~OpenedRuntime() = default;

  /// What of streams and graphs a library has: nothing else needs them.
  void find_graphs(void* library) noexcept;

  /// Gives a thread that has none a context, where the vendor knows such: false where that changed nothing.
  virtual bool enter_context() const noexcept { return false; }

  /// A function of a library; false where it has none of that name.
  template <class Function>
  static bool find(void* library, const char* name, Function*& out) noexcept {
    out = reinterpret_cast<Function*>(dlsym(library, name));
    return out != nullptr;
  }

  Status failed(const char* call, int code, StatusCode kind = StatusCode::no_device) const noexcept {
    return Status::error(kind, "%s answered with %s error %d", call, name(), code);
  }
  Status done(const char* call, int code, StatusCode kind = StatusCode::internal) const noexcept {
    return code == 0 ? Status::success() : failed(call, code, kind);
  }

  /// The same of a call on a stream: a driver that knows its streams has answered that this is none of them.
  Status queued(const char* call, int code, const void* stream, StatusCode kind = StatusCode::internal) const noexcept {
    const bool is_none = code == kInvalidContext || code == kInvalidHandle || code == kContextIsDestroyed;
    if (stream == nullptr || !is_none) return done(call, code, kind);
    return Status::error(StatusCode::invalid_argument,
                         "%s answered with %s error %d: stream %p was destroyed, or is another device's", call, name(),
                         code, stream);
  }

  /// What `query` says of a device, which is asked once.
  template <class Query>
  Status known(int id, GpuProperties& out, Query query) const noexcept {
    if (id < 0 || id >= kMostDevices)
      return Status::error(StatusCode::no_device, "%s device %d is out of range", name(), id);
    const std::lock_guard lock(mutex_);
    GpuProperties& entry = devices_[static_cast<std::size_t>(id)];
    if (entry.cu_num == 0) {
      if (const Status status = query(id, entry); !status.ok()) return status;
    }
    out = entry;
    return Status::success();
  }

  // CUresult and hipError_t number these alike.
  static constexpr int kInvalidContext = 201;
  static constexpr int kInvalidHandle = 400;
  static constexpr int kContextIsDestroyed = 709;

  Status status_;  // whether the library was found; its message says what the loader answered

 private:
  template <class... Arguments>
  Status asked(const NamedCall<Arguments...>& of, std::type_identity_t<Arguments>... arguments) const noexcept {
    if (!status_.ok()) return status_;
    if (of.call == nullptr) return Status::error(StatusCode::unsupported, "the %s library has no %s", name(), of.name);
    int code = of.call(arguments...);
    if (code == kInvalidContext && enter_context()) code = of.call(arguments...);
    return done(of.name, code);
  }

  GraphCalls graphs_;
  static constexpr int kMostDevices = 64;

  mutable std::mutex mutex_;
  mutable std::array<GpuProperties, kMostDevices> devices_{};  // cu_num 0: not asked yet
};

}  // namespace ckgen::inline v1::detail
