// parallel_for over one small persistent pool of threads.
//
// body(index, slot) runs once for every index in [0, count); slot is in [0, threads) and no two bodies that run at the
// same time share one, so per-slot scratch needs no lock. The caller takes part. A nested call, a call while another
// thread uses the pool and a call in a forked child run serially in slot 0. Never throws, never allocates after the
// pool exists; all writes of the bodies happen before the return.
#pragma once

#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

using ParallelBody = void (*)(void* context, std::int64_t index, int slot);

void parallel_for_raw(std::int64_t count, int threads, ParallelBody body, void* context) noexcept;

template <typename F>
void parallel_for(std::int64_t count, int threads, F&& f) noexcept {
  parallel_for_raw(count, threads, [](void* c, std::int64_t i, int slot) { (*static_cast<F*>(c))(i, slot); }, &f);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
