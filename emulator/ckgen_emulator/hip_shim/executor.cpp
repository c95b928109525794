#include "executor.hpp"

#include <c_api.h>
#include <c_api_object.h>
#include <dlfcn.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <type_traits>

#include "hip_abi.hpp"

namespace ckgen::shim {

struct CoreFunctions {
  decltype(&ckgen_emu_error) error = nullptr;
  decltype(&ckgen_emu_abi) abi = nullptr;
  decltype(&ckgen_emu_create) create = nullptr;
  decltype(&ckgen_emu_destroy) destroy = nullptr;
  decltype(&ckgen_emu_memory_add) memory_add = nullptr;
  decltype(&ckgen_emu_memory_remove) memory_remove = nullptr;
  decltype(&ckgen_emu_memory_written) memory_written = nullptr;
  decltype(&ckgen_emu_load) load = nullptr;
  decltype(&ckgen_emu_unload) unload = nullptr;
  decltype(&ckgen_emu_takes) takes = nullptr;
  decltype(&ckgen_emu_launch) launch = nullptr;
  decltype(&ckgen_emu_report_finding) report_finding = nullptr;
  decltype(&ckgen_emu_report_origin) report_origin = nullptr;
  decltype(&ckgen_emu_report_free) report_free = nullptr;
  decltype(&ckgen_emu_object_read) object_read = nullptr;
  decltype(&ckgen_emu_object_free) object_free = nullptr;
  decltype(&ckgen_emu_object_error) object_error = nullptr;
  decltype(&ckgen_emu_object_kernel_count) object_kernel_count = nullptr;
  decltype(&ckgen_emu_object_kernel) object_kernel = nullptr;
  decltype(&ckgen_emu_object_argument) object_argument = nullptr;
};

namespace {

template <class Function>
void resolve(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(dlsym(library, name));
  if (out == nullptr) throw std::runtime_error(std::string("CKGEN_EMULATOR: ") + dlerror());
}

std::unique_ptr<CoreFunctions> open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(std::string("CKGEN_EMULATOR: ") + dlerror());
  auto core = std::make_unique<CoreFunctions>();
  resolve(library, "ckgen_emu_abi", core->abi);
  if (core->abi() != CKGEN_EMU_ABI)
    throw std::runtime_error("CKGEN_EMULATOR: " + path + " has another version of the core's interface");
  resolve(library, "ckgen_emu_error", core->error);
  resolve(library, "ckgen_emu_create", core->create);
  resolve(library, "ckgen_emu_destroy", core->destroy);
  resolve(library, "ckgen_emu_memory_add", core->memory_add);
  resolve(library, "ckgen_emu_memory_remove", core->memory_remove);
  resolve(library, "ckgen_emu_memory_written", core->memory_written);
  resolve(library, "ckgen_emu_load", core->load);
  resolve(library, "ckgen_emu_unload", core->unload);
  resolve(library, "ckgen_emu_takes", core->takes);
  resolve(library, "ckgen_emu_launch", core->launch);
  resolve(library, "ckgen_emu_report_finding", core->report_finding);
  resolve(library, "ckgen_emu_report_origin", core->report_origin);
  resolve(library, "ckgen_emu_report_free", core->report_free);
  resolve(library, "ckgen_emu_object_read", core->object_read);
  resolve(library, "ckgen_emu_object_free", core->object_free);
  resolve(library, "ckgen_emu_object_error", core->object_error);
  resolve(library, "ckgen_emu_object_kernel_count", core->object_kernel_count);
  resolve(library, "ckgen_emu_object_kernel", core->object_kernel);
  resolve(library, "ckgen_emu_object_argument", core->object_argument);
  return core;
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file || text.empty()) throw std::runtime_error("CKGEN_EMULATOR_TABLE: " + path + " cannot be read");
  return text;
}

std::vector<KernelInfo> kernels_of(const CoreFunctions& core, const ckgen_emu_object* object) {
  std::vector<KernelInfo> kernels;
  for (std::uint32_t i = 0; i < core.object_kernel_count(object); ++i) {
    ckgen_emu_kernel found{};
    core.object_kernel(object, i, &found);
    KernelInfo info{found.name, {}};
    for (std::uint32_t j = 0; j < found.argument_count; ++j) {
      ckgen_emu_argument argument{};
      core.object_argument(object, i, j, &argument);
      info.arguments.push_back({argument.offset, argument.size});
    }
    kernels.push_back(std::move(info));
  }
  return kernels;
}

LaunchFinding finding_of(const CoreFunctions& core, const ckgen_emu_report* report, std::uint32_t index) {
  ckgen_emu_finding found{};
  core.report_finding(report, index, &found);
  return {found.rule, found.instruction, found.what, found.address, {found.group[0], found.group[1], found.group[2]},
          found.wave, found.lane,        found.count};
}

ckgen_emu_dispatch call_of(const Dispatch& dispatch) {
  return {{dispatch.grid[0], dispatch.grid[1], dispatch.grid[2]},
          {dispatch.block[0], dispatch.block[1], dispatch.block[2]},
          dispatch.dynamic_lds,
          dispatch.args.data(),
          dispatch.args.size()};
}

int error_of(int status) {
  switch (status) {
    case 0: return kSuccess;
    case CKGEN_EMU_BAD_GEOMETRY: return kInvalidConfiguration;
    case CKGEN_EMU_OUT_OF_RESOURCES: return kLaunchOutOfResources;
    default: return kLaunchFailure;
  }
}

void count(const ckgen_emu_result& result, LaunchOutcome& outcome) {
  constexpr const char* classes[] = {"scalar", "vector", "matrix", "scalar_memory", "vector_memory", "lds", "control"};
  static_assert(std::size(classes) == std::extent_v<decltype(result.by_class)>);
  for (std::size_t i = 0; i < std::size(classes); ++i) outcome.by_class.emplace_back(classes[i], result.by_class[i]);
  outcome.counts = {{"global_read", result.global_read},
                    {"global_written", result.global_written},
                    {"atomics", result.atomics},
                    {"lds_read", result.lds_read},
                    {"lds_written", result.lds_written},
                    {"lds_cycles", result.lds_cycles},
                    {"lds_conflict_cycles", result.lds_conflict_cycles}};
}

}  // namespace

Executor::Executor(const Settings& settings) : core_(open(settings.library)), settings_(settings) {
  const std::string table = text_of_file(settings.table);
  const Target& target = settings.target;
  const ckgen_emu_chip chip{target.arch.c_str(), table.c_str(), target.compute_units, target.xcds, target.lds_bytes};
  chip_ = core_->create(&chip);
  if (chip_ == nullptr) throw std::runtime_error(std::string("the emulator refuses the device: ") + core_->error());
}

Executor::~Executor() {
  core_->destroy(chip_);
}

bool Executor::add_memory(void* memory, std::size_t bytes, bool written) {
  return core_->memory_add(chip_, memory, bytes, written ? 1 : 0, 1) == 0;
}

void Executor::remove_memory(void* memory) {
  static_cast<void>(core_->memory_remove(chip_, memory));
}

void Executor::mark_written(void* memory, std::size_t bytes) {
  static_cast<void>(core_->memory_written(chip_, memory, bytes));
}

int Executor::load(const void* bytes, std::size_t size, std::shared_ptr<LoadedModule>& out) {
  const std::unique_ptr<ckgen_emu_object, decltype(core_->object_free)> object(core_->object_read(bytes, size),
                                                                               core_->object_free);
  if (object == nullptr) return kOutOfMemory;
  const std::string error = core_->object_error(object.get());
  if (!error.empty()) {
    std::fprintf(stderr, "ckgen emulator: %s\n", error.c_str());
    return kInvalidImage;
  }
  ckgen_emu_module* handle = nullptr;
  if (const int status = core_->load(chip_, bytes, size, &handle); status != 0) {
    std::fprintf(stderr, "ckgen emulator: %s\n", core_->error());
    return status == CKGEN_EMU_NO_BINARY ? kNoBinaryForGpu : kInvalidImage;
  }
  out = std::make_shared<LoadedModule>(*this, handle, kernels_of(*core_, object.get()));
  return kSuccess;
}

int Executor::check(const LoadedModule& module, const KernelInfo& kernel, const Dispatch& dispatch) {
  const ckgen_emu_dispatch call = call_of(dispatch);
  const int status = core_->takes(chip_, module.handle_, kernel.name.c_str(), &call);
  if (status != 0) std::fprintf(stderr, "ckgen emulator: %s: %s\n", kernel.name.c_str(), core_->error());
  return error_of(status);
}

void Executor::watch(const void* memory, std::size_t bytes) {
  const std::lock_guard lock(launching_);
  watched_ = reinterpret_cast<std::uint64_t>(memory);
  watched_bytes_ = bytes;
}

LaunchOutcome Executor::launch(const LoadedModule& module, const KernelInfo& kernel, const Dispatch& dispatch) {
  const ckgen_emu_dispatch call = call_of(dispatch);
  const RunOptions& chosen = settings_.options;
  const std::lock_guard lock(launching_);
  const ckgen_emu_options options{chosen.checked ? 1 : 0,
                                  chosen.seed,
                                  chosen.threads,
                                  chosen.most_instructions,
                                  chosen.most_findings,
                                  chosen.trace.c_str(),
                                  watched_,
                                  watched_bytes_,
                                  0};
  ckgen_emu_result result{};
  ckgen_emu_report* report = nullptr;
  LaunchOutcome outcome;
  if (core_->launch(chip_, module.handle_, kernel.name.c_str(), &call, &options, &result, &report) != 0) {
    outcome.error = core_->error();
    return outcome;
  }
  const std::unique_ptr<ckgen_emu_report, decltype(core_->report_free)> owned(report, core_->report_free);
  outcome.ran = true;
  outcome.origin = core_->report_origin(report);
  outcome.instructions = result.instructions;
  outcome.groups = result.groups;
  outcome.waves = result.waves;
  outcome.occupancy = result.occupancy;
  count(result, outcome);
  for (std::uint32_t i = 0; i < result.findings; ++i) outcome.findings.push_back(finding_of(*core_, report, i));
  return outcome;
}

LoadedModule::~LoadedModule() {
  executor_.core_->unload(executor_.chip_, handle_);
}

}  // namespace ckgen::shim
