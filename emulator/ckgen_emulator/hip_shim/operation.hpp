// What a stream does: launches, fills and copies; done at once, or kept in a graph and done when it is launched.
#pragma once

#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

#include "executor.hpp"

namespace ckgen::shim {

struct LaunchOperation {
  std::weak_ptr<LoadedModule> module;  // a graph does not keep the modules that it needs
  std::size_t kernel = 0;              // index in the module
  Dispatch dispatch;
};

/// `rows` times `width` bytes, `pitch` bytes apart.
struct FillOperation {
  void* memory = nullptr;
  std::size_t pitch = 0, width = 0, rows = 1;
  int value = 0;
};

struct CopyOperation {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  int kind = 0;  // a MemcpyKind
};

using Operation = std::variant<LaunchOperation, FillOperation, CopyOperation>;
using Operations = std::vector<Operation>;

}  // namespace ckgen::shim
