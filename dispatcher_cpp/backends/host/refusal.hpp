// What checks of host kernels say and ask alike.
#pragma once

#include "ckgen/dtype.hpp"
#include "ckgen/status.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

inline bool is_wide(DType t) noexcept {
  return t == DType::fp32 || t == DType::fp16 || t == DType::bf16;
}

inline Status unsupported(const char* text) noexcept {
  return Status::error(StatusCode::unsupported, "%s", text);
}
inline Status invalid(const char* text) noexcept {
  return Status::error(StatusCode::invalid_argument, "%s", text);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
