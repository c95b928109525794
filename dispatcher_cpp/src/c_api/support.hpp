// What the parts of the C API share: handles, checks of what a caller gave, messages.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <ckgen/c_api.h>
#include <ckgen/dispatcher.hpp>

struct ckgen_registry {
  ckgen::Registry value;
};
struct ckgen_dispatcher {
  ckgen::Dispatcher value;
};
struct ckgen_device {
  ckgen::Device value;
};
struct ckgen_plan {
  ckgen::Plan value;
};
struct ckgen_groups {
  std::vector<ckgen::GroupSize> sizes;
  ckgen::Groups value;  // points at them
};

namespace ckgen::inline v1::detail {

/// Out of line: calls that refuse nothing are shorter without it.
[[gnu::noinline]] inline void write(const ckgen_message& message, std::string_view text) noexcept {
  if (message.text == nullptr || message.size == 0) return;
  std::size_t length = std::min(text.size(), message.size - 1);
  const auto is_inside = [&](std::size_t at) { return at < text.size() && (text[at] & 0xC0) == 0x80; };
  while (length > 0 && is_inside(length)) --length;  // a cut never splits a UTF-8 character
  std::copy_n(text.data(), length, message.text);
  message.text[length] = '\0';
}

inline ckgen_status ok(const ckgen_message& message) noexcept {
  if (message.text != nullptr && message.size != 0) message.text[0] = '\0';
  return CKGEN_OK;
}

inline ckgen_status answer(const Status& status, const ckgen_message& message) noexcept {
  if (status.ok()) return ok(message);
  write(message, status.message);
  return static_cast<ckgen_status>(status.code);
}

inline ckgen_status invalid(const ckgen_message& message, std::string_view text) noexcept {
  write(message, text);
  return CKGEN_INVALID_ARGUMENT;
}

/// Whether none of the pointers is null; says so otherwise.
template <class... Pointers>
bool given(const ckgen_message& message, const Pointers*... pointers) noexcept {
  if (((pointers != nullptr) && ...)) return true;
  invalid(message, "a required argument is null");
  return false;
}

/// Bytes of the first version of a caller's struct.
template <class Struct>
inline constexpr std::size_t kFirstSize = sizeof(Struct);
template <>
inline constexpr std::size_t kFirstSize<ckgen_problem> = offsetof(ckgen_problem, groups);

template <>
inline constexpr std::size_t kFirstSize<ckgen_options> = offsetof(ckgen_options, tables);

template <>
inline constexpr std::size_t kFirstSize<ckgen_grouped_args> = offsetof(ckgen_grouped_args, a_scale_stride);

template <>
inline constexpr std::size_t kFirstSize<ckgen_device_info> = offsetof(ckgen_device_info, sku);

/// Whether a caller's struct is at least as large as the first version of it.
template <class Struct>
bool sized(const ckgen_message& message, const Struct* value) noexcept {
  if (value == nullptr) return given(message, value);
  if (value->size >= kFirstSize<Struct>) return true;
  invalid(message, "a struct's size field is smaller than the struct");
  return false;
}

/// The same of a problem and what it points to.
inline bool sized(const ckgen_message& message, const ckgen_problem* value) noexcept {
  if (!sized<ckgen_problem>(message, value)) return false;
  const bool has_fmha = value->size >= offsetof(ckgen_problem, num_threads) && value->fmha != nullptr;
  return !has_fmha || sized(message, value->fmha);
}

/// Runs `body`, a function that returns a ckgen_status, and turns any exception into CKGEN_INTERNAL.
template <class Body>
ckgen_status guarded(const ckgen_message& message, Body body) noexcept {
  try {
    return body();
  } catch (...) {
    write(message, "out of memory");
    return CKGEN_INTERNAL;
  }
}

template <class Handle, class Value>
ckgen_status make(Handle** out, Value&& value, const ckgen_message& message) noexcept {
  return guarded(message, [&] {
    *out = new Handle{std::forward<Value>(value)};
    return ok(message);
  });
}

/// The arguments of C++ that `args_of` reads in the caller's struct: never across two pages of the stack, where GCC's
/// stores of two fields at once take some 10 ns longer.
template <auto args_of, class Args>
struct ArgsOf {
  using Value = decltype(args_of(std::declval<const Args&>()));
  alignas(std::bit_ceil(sizeof(Value))) const Value value;
  explicit ArgsOf(const Args& args) noexcept : value(args_of(args)) {}
};

/// Runs a plan in the caller's workspace with such arguments.
template <auto args_of, class Args>
[[gnu::always_inline]] inline ckgen_status run_in(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan,
                                                  const Args* args, void* workspace, void* stream,
                                                  const ckgen_message& message) noexcept {
  if (!given(message, dispatcher, plan) || !sized(message, args)) return CKGEN_INVALID_ARGUMENT;
  const ArgsOf<args_of, Args> own(*args);
  return answer(dispatcher->value.run(plan->value, own.value, workspace, stream), message);
}

/// The same in a workspace of the dispatcher's pool.
template <auto args_of, class Args>
ckgen_status run_pooled(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan, const Args* args, void* stream,
                        const ckgen_message& message) noexcept {
  if (!given(message, dispatcher, plan) || !sized(message, args)) return CKGEN_INVALID_ARGUMENT;
  const ArgsOf<args_of, Args> own(*args);
  return answer(dispatcher->value.run(plan->value, own.value, stream), message);
}

/// Times such runs.
template <auto args_of, class Args>
ckgen_status bench_of(const ckgen_dispatcher* dispatcher, const ckgen_plan* plan, const Args* args, int32_t warmup,
                      int32_t runs, ckgen_bench_result* out, const ckgen_message& message) noexcept {
  if (!given(message, dispatcher, plan) || !sized(message, args) || !sized(message, out)) return CKGEN_INVALID_ARGUMENT;
  BenchOptions options = BenchOptions::from_environment();
  if (warmup >= 0) options.warmup = warmup;
  if (runs >= 0) options.runs = runs;
  const auto result = dispatcher->value.bench(plan->value, args_of(*args), options);
  if (result) *out = {out->size, result->median_us, result->min_us, result->max_us, result->runs, 0};
  return answer(result.status(), message);
}

FmhaShape fmha_shape_of(const ckgen_problem_fmha& problem) noexcept;
Routing routing_of(std::uint32_t experts, std::uint32_t top_k) noexcept;
/// Valid until this thread's next call of it.
const Problem& problem_of(const ckgen_problem& problem) noexcept;
Selection selection_of(const ckgen_selection& selection) noexcept;
void fill(const Selection& selection, ckgen_selection& out) noexcept;

}  // namespace ckgen::inline v1::detail
