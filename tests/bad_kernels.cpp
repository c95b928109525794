// The generated library `good` with launchers that do what no kernel may: `ckgen_bad_library`, by an instance's number.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include <ckgen/ckgen.hpp>

namespace good {
const ckgen::Library& library() noexcept;
}

namespace {

using ckgen::Launch;
using ckgen::Status;

Status right(const Launch& launch) noexcept {
  return static_cast<const ckgen::InstanceDesc*>(launch.instance->context)->twin(launch);
}

float* end_of_c(const Launch& launch) {
  const ckgen::GemmArgs& args = *launch.args;
  return static_cast<float*>(args.c) + (args.m - 1) * args.ldc + args.n;
}

Status crashes(const Launch&) noexcept {
  ::raise(SIGSEGV);
  return Status::success();
}

Status aborts(const Launch&) noexcept {
  std::abort();
}

Status loops(const Launch&) noexcept {
  for (volatile int turn = 0;; turn = turn + 1) {
  }
}

Status does_nothing(const Launch&) noexcept {
  return Status::success();
}

Status writes_beside(const Launch& launch) noexcept {
  const Status status = right(launch);
  *end_of_c(launch) = 1;
  return status;
}

// And prints what might pass for an answer.
Status gives_garbage(const Launch& launch) noexcept {
  static_cast<void>(!::write(1, "{\"end\": {\"bytes\": 0, \"sets\": 0}}\n", 34));
  const Status status = right(launch);
  end_of_c(launch)[-1] += 1;
  return status;
}

// The numbers that make it fail lie in the worker's limit of address space.
Status takes_all_memory(const Launch& launch) noexcept {
  static std::vector<char*> taken;
  for (;;) taken.push_back(new char[std::size_t{1} << 30]);
  return right(launch);
}

Status crashes_later(const Launch& launch) noexcept {
  static int calls = 0;
  if (++calls == 4) std::abort();
  return right(launch);
}

// Right where its result was never written before.
Status adds_up(const Launch& launch) noexcept {
  static int calls = 0;
  const Status status = right(launch);
  if (++calls > 1) end_of_c(launch)[-1] *= 2;
  return status;
}

constexpr ckgen::LaunchFn kActs[] = {crashes, aborts,       loops,         takes_all_memory, writes_beside,
                                     right,   does_nothing, gives_garbage, adds_up,          crashes_later};

const ckgen::Library& bad_library() {
  static const ckgen::SignatureUnit& unit = *good::library().units[0];
  static std::vector<ckgen::InstanceDesc> instances(unit.instances, unit.instances + unit.instance_count);
  for (std::size_t i = 0; i < instances.size(); ++i) {
    instances[i].context = const_cast<ckgen::InstanceDesc*>(&unit.instances[i]);
    instances[i].twin = i < std::size(kActs) ? kActs[i] : right;
  }
  static ckgen::SignatureUnit spoilt = unit;
  spoilt.instances = instances.data();
  static const ckgen::SignatureUnit* const units[] = {&spoilt};
  static const ckgen::Library library{"bad", CKGEN_RUNTIME_ABI, good::library().build_id, units, 1};
  return library;
}

}  // namespace

extern "C" const void* ckgen_bad_library(void);
extern "C" const void* ckgen_bad_library(void) {
  return &bad_library();
}
