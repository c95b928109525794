// What a run of a plan takes, whatever its operation: a reference to that operation's own struct.
#pragma once

#include <utility>

#include <ckgen/words.hpp>

namespace ckgen {
inline namespace v1 {

/// Made of any struct with an `op_of` beside it, which says whose arguments it is: GemmArgs, GroupedArgs, MoeArgs,
/// FmhaArgs. Refers to the struct, which must outlive the call that it is passed to.
class RunArgs {
 public:
  template <class Args, class = decltype(op_of(std::declval<const Args&>()))>
  RunArgs(const Args& args) noexcept : op_(op_of(args)), args_(&args) {}

  Op op() const noexcept { return op_; }
  /// `Args` must be the struct of op().
  template <class Args>
  const Args& as() const noexcept {
    return *static_cast<const Args*>(args_);
  }

 private:
  Op op_;
  const void* args_;
};

}  // namespace v1
}  // namespace ckgen
