// Which kernel a device op takes for an argument: its own IsSupportedArgument, then its own Invoker. After prelude.hpp.
#pragma once

#include <exception>
#include <utility>

#include "ck/host/recorded.hpp"
#include "ck/stream_config.hpp"

namespace ckgen::ck_host {

enum class Answer {
  launched,  // `Recorded` holds the launch
  refused,   // IsSupportedArgument says no
  nothing,   // supported, but the Invoker launches no kernel, or more than one
  failed,    // the op threw
};

/// Thread-safe; neither allocates nor prints. `Op` is a ck device operation.
template <class Op>
Answer ask(const typename Op::Argument& argument, Recorded& to) noexcept try {
  if (!Op::IsSupportedArgument(argument)) return Answer::refused;
  StreamConfig stream{};
  stream.stream_id_ = reinterpret_cast<hipStream_t>(&to);
  typename Op::Invoker{}.Run(argument, stream);
  return to.launches == 1 ? Answer::launched : Answer::nothing;
} catch (const std::exception&) {
  return Answer::failed;
}

}  // namespace ckgen::ck_host
