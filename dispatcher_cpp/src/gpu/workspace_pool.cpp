#include "src/gpu/workspace_pool.hpp"

#include <new>

namespace ckgen::inline v1::detail {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr std::uintptr_t kStreamOfThread = 2;  // CU_STREAM_PER_THREAD and hipStreamPerThread

}  // namespace

WorkspacePool::~WorkspacePool() {
  for (auto& [key, entry] : entries_) release(entry);
}

void* WorkspacePool::Lease::memory() const noexcept {
  return entry_ != nullptr ? entry_->memory : nullptr;
}

Status WorkspacePool::acquire(const Device& device, Stream stream, std::uint64_t bytes, Lease& lease) noexcept {
  const GpuRuntime* runtime = runtime_of(device);
  std::uint64_t id = 0;
  if (runtime != nullptr) {
    if (const Status status = runtime->stream_id(stream, id); !status.ok()) return status;
  }
  const bool is_of_thread = reinterpret_cast<std::uintptr_t>(stream) == kStreamOfThread;
  try {
    {
      const std::lock_guard lock(mutex_);
      const std::thread::id whose = is_of_thread ? std::this_thread::get_id() : std::thread::id{};
      const Key key{runtime, device.id(), stream, whose};
      lease.entry_ = &entries_.try_emplace(key, runtime).first->second;
    }
    lease.lock_ = std::unique_lock(lease.entry_->mutex);
  } catch (...) {
    return Status::error(StatusCode::internal, "out of memory for the workspace pool");
  }
  if (id != 0 && lease.entry_->stream != id) {
    release(*lease.entry_);
    lease.entry_->stream = id;
  }
  return bytes > lease.entry_->bytes ? grow(*lease.entry_, bytes) : Status::success();
}

Status WorkspacePool::grow(Entry& entry, std::uint64_t bytes) noexcept {
  release(entry);
  if (entry.runtime != nullptr) {
    if (const Status status = entry.runtime->allocate(bytes, &entry.memory); !status.ok()) return status;
  } else {
    entry.memory = ::operator new(bytes, kAlignment, std::nothrow);
    if (entry.memory == nullptr)
      return Status::error(StatusCode::internal, "no memory for %llu bytes of workspace",
                           static_cast<unsigned long long>(bytes));
  }
  entry.bytes = bytes;
  return Status::success();
}

void WorkspacePool::release(Entry& entry) noexcept {
  if (entry.memory == nullptr) return;
  if (entry.runtime != nullptr) {
    static_cast<void>(entry.runtime->release(entry.memory));  // waits for the device
  } else {
    ::operator delete(entry.memory, kAlignment);
  }
  entry.memory = nullptr;
  entry.bytes = 0;
}

}  // namespace ckgen::inline v1::detail
