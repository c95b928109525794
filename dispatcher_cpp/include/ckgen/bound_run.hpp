// A plan with its arguments, launched again and again for less than a run.
#pragma once

#include <memory>

#include <ckgen/export.h>
#include <ckgen/instance.hpp>
#include <ckgen/status.hpp>

namespace ckgen {
inline namespace v1 {

/// Made by Dispatcher::bind: what was checked and prepared there is not again. On a GPU it is a graph of the vendor's,
/// elsewhere the plan's stages as they are. A handle: copies are the same bound run.
/// Its workspace is its own. Runs follow each other: of a GPU those of one stream, and others as the caller orders
/// them; elsewhere one at a time. It ends, with the last copy, when no run is under way.
class CKGEN_API BoundRun {
 public:
  /// Bound to nothing: run() says so.
  BoundRun() noexcept = default;

  /// Launches and returns. On a GPU the calling thread's current device must be the plan's; a stream that is being
  /// captured takes it as a part of its graph.
  Status run(Stream stream) const noexcept;

 private:
  friend class Dispatcher;
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace v1
}  // namespace ckgen
