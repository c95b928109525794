#include "c_api.h"

#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "decode.hpp"
#include "geometry.hpp"
#include "kernarg.hpp"
#include "launch.hpp"
#include "occupancy.hpp"
#include "origins.hpp"
#include "run.hpp"
#include "single.hpp"
#include "text.hpp"

using namespace ckgen::emu;

struct ckgen_emu_module {
  CodeObject object;
  std::mutex mutex;
  // By kernel and by whether it is checked; bound at the first launch.
  std::vector<std::unique_ptr<Program>> programs;
};

struct ckgen_emu {
  Chip chip;
  OpTable table;
  Memory memory;
  std::unique_ptr<Origins> origins;  // from one watched launch to the next
};

struct ckgen_emu_report {
  std::vector<Finding> findings;
  std::string origin;
};

namespace {

thread_local std::string last_error;

int failed(std::string what, int status = CKGEN_EMU_FAILED) {
  last_error = std::move(what);
  return status;
}

/// Runs `work`; an exception becomes the thread's error.
template <class Work>
int guarded(Work&& work) noexcept {
  try {
    return work();
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}

Options options_of(const ckgen_emu_options& from) {
  Options to;
  to.checked = from.checked != 0;
  to.seed = from.seed;
  to.threads = from.threads == 0 ? 1 : from.threads;
  to.most_instructions = from.most_instructions;
  to.most_findings = from.most_findings == 0 ? to.most_findings : from.most_findings;
  to.trace = from.trace == nullptr ? "" : from.trace;
  to.watch = from.watch;
  to.watch_bytes = from.watch_bytes;
  to.turn = from.turn;
  return to;
}

void fill(const RunResult& run, std::uint32_t occupancy, std::size_t findings, ckgen_emu_result& out) {
  const Stats& stats = run.stats;
  out = {};
  out.instructions = run.instructions;
  for (std::size_t i = 0; i < kClasses; ++i) out.by_class[i] = stats.instructions[i];
  out.global_read = stats.global_read;
  out.global_written = stats.global_written;
  out.atomics = stats.atomics;
  out.lds_read = stats.lds_read;
  out.lds_written = stats.lds_written;
  out.lds_cycles = stats.lds_cycles;
  out.lds_conflict_cycles = stats.lds_conflict_cycles;
  out.groups = stats.groups;
  out.waves = stats.waves;
  out.occupancy = occupancy;
  out.findings = static_cast<std::uint32_t>(findings);
}

/// Memory that belongs to a launch, known to the chip while it runs.
class LaunchMemory {
 public:
  LaunchMemory(Memory& memory, std::uint8_t* bytes, std::size_t size, bool written)
      : memory_(memory),
        base_(reinterpret_cast<std::uint64_t>(bytes)),
        added_(size != 0 && memory.add(base_, size, written, false)) {}
  ~LaunchMemory() {
    if (added_) memory_.remove(base_);
  }
  LaunchMemory(const LaunchMemory&) = delete;
  LaunchMemory& operator=(const LaunchMemory&) = delete;

 private:
  Memory& memory_;
  std::uint64_t base_;
  bool added_;
};

const Kernel& kernel_of(const ckgen_emu_module& module, const char* name) {
  const auto& kernels = module.object.kernels;
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& one) { return one.name == name; });
  if (found == kernels.end()) throw std::invalid_argument(std::string("no kernel is called ") + name);
  return *found;
}

Dispatch shape_of(const ckgen_emu_dispatch& from) {
  Dispatch to;
  std::copy_n(from.grid, 3, to.grid);
  std::copy_n(from.block, 3, to.block);
  to.dynamic_lds = from.dynamic_lds;
  return to;
}

int refused(const ckgen_emu& emu, const Kernel& kernel, const Dispatch& shape) {
  Refusal refusal = refusal_of(kernel, emu.chip, shape);
  switch (refusal.why) {
    case Refused::no: return 0;
    case Refused::geometry: return failed(std::move(refusal.what), CKGEN_EMU_BAD_GEOMETRY);
    case Refused::resources: return failed(std::move(refusal.what), CKGEN_EMU_OUT_OF_RESOURCES);
  }
  return failed("unreachable");
}

const Program& program_of(const ckgen_emu& emu, ckgen_emu_module& module, const Kernel& kernel, bool checked) {
  const std::lock_guard lock(module.mutex);
  const auto index = static_cast<std::size_t>(&kernel - module.object.kernels.data());
  auto& program = module.programs[2 * index + (checked ? 1 : 0)];
  if (!program) {
    program =
        std::make_unique<Program>(Program::bind(kernel.text, kernel.text_start, kernel.entry, emu.table, checked));
  }
  return *program;
}

/// What is known of who wrote what; forgotten by a launch that watches nothing.
Origins* origins_of(ckgen_emu& emu, const Options& options) {
  if (options.watch_bytes == 0) {
    emu.origins.reset();
  } else if (!emu.origins) {
    emu.origins = std::make_unique<Origins>();
  }
  return emu.origins.get();
}

std::uint64_t give(const std::string& text, char* out, std::uint64_t room) {
  if (out != nullptr && room != 0) {
    const std::uint64_t count = std::min<std::uint64_t>(text.size(), room - 1);
    std::memcpy(out, text.data(), count);
    out[count] = '\0';
  }
  return text.size() + 1;
}

/// Why code does not run on a chip; empty where it does.
std::string why_not_for(const CodeObject& object, const Chip& chip) {
  const Processor& processor = chip.processor;
  const std::string& said = object.processor;
  if (object.machine == processor.machine && (said.empty() || said == processor.name)) return {};
  if (said.empty() || said == processor.name)
    return "code with e_flags " + std::to_string(object.machine) + " on a " + chip.arch + ", which has " +
           std::to_string(processor.machine);
  return "code for " + said + " on a " + chip.arch;
}

}  // namespace

const char* ckgen_emu_error(void) {
  return last_error.c_str();
}

uint32_t ckgen_emu_abi(void) {
  return CKGEN_EMU_ABI;
}

ckgen_emu* ckgen_emu_create(const ckgen_emu_chip* chip) {
  std::unique_ptr<ckgen_emu> made;
  const int status = guarded([&] {
    made = std::make_unique<ckgen_emu>();
    std::string error;
    std::string_view text = chip->opcode_table;
    Processor processor = take_processor(text, error);
    if (!error.empty()) return failed(error);
    made->table = OpTable::parse(text, error);
    if (!error.empty()) return failed(error);
    if (chip->compute_units == 0 || chip->xcds == 0 || chip->lds_bytes == 0) return failed("a chip without units");
    made->chip = {chip->arch, chip->compute_units, chip->xcds, chip->lds_bytes, std::move(processor)};
    return 0;
  });
  return status == 0 ? made.release() : nullptr;
}

void ckgen_emu_destroy(ckgen_emu* emu) {
  delete emu;
}

int ckgen_emu_memory_add(ckgen_emu* emu, void* memory, uint64_t bytes, int written, int writable) {
  return guarded([&] {
    const bool added = emu->memory.add(reinterpret_cast<std::uint64_t>(memory), bytes, written != 0, writable != 0);
    return added ? 0 : failed("memory that is empty or overlaps what is known");
  });
}

int ckgen_emu_memory_remove(ckgen_emu* emu, void* memory) {
  return emu->memory.remove(reinterpret_cast<std::uint64_t>(memory)) ? 0 : failed("memory that is not known");
}

int ckgen_emu_memory_written(ckgen_emu* emu, void* memory, uint64_t bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(memory);
  return emu->memory.mark_written(address, bytes) ? 0 : failed("memory that is not known");
}

int ckgen_emu_load(ckgen_emu* emu, const void* bytes, uint64_t size, ckgen_emu_module** out) {
  return guarded([&] {
    auto module = std::make_unique<ckgen_emu_module>();
    std::string error;
    module->object = read_code_object({static_cast<const std::uint8_t*>(bytes), size}, error);
    if (!error.empty()) return failed(error);
    const std::string mismatch = why_not_for(module->object, emu->chip);
    if (!mismatch.empty()) return failed(mismatch, CKGEN_EMU_NO_BINARY);
    module->programs.resize(2 * module->object.kernels.size());
    *out = module.release();
    return 0;
  });
}

void ckgen_emu_unload(ckgen_emu*, ckgen_emu_module* module) {
  delete module;
}

uint32_t ckgen_emu_kernel_count(const ckgen_emu_module* module) {
  return static_cast<uint32_t>(module->object.kernels.size());
}

const char* ckgen_emu_kernel_name(const ckgen_emu_module* module, uint32_t index) {
  return module->object.kernels[index].name.c_str();
}

int ckgen_emu_takes(const ckgen_emu* emu, const ckgen_emu_module* module, const char* kernel,
                    const ckgen_emu_dispatch* dispatch) {
  return guarded([&] { return refused(*emu, kernel_of(*module, kernel), shape_of(*dispatch)); });
}

int ckgen_emu_launch(ckgen_emu* emu, ckgen_emu_module* module, const char* kernel, const ckgen_emu_dispatch* dispatch,
                     const ckgen_emu_options* options, ckgen_emu_result* result, ckgen_emu_report** report) {
  return guarded([&] {
    const Kernel& found = kernel_of(*module, kernel);
    const Dispatch shape = shape_of(*dispatch);
    if (const int status = refused(*emu, found, shape); status != 0) return status;
    const Options chosen = options_of(*options);
    const Program& program = program_of(*emu, *module, found, chosen.checked);
    KernargSegment segment =
        kernarg_segment(found, shape, {static_cast<const std::uint8_t*>(dispatch->args), dispatch->args_size});
    const LaunchMemory arguments(emu->memory, segment.bytes.data(), segment.bytes.size(), false);
    for (const KernargSegment::Range& one : segment.written)
      emu->memory.mark_written(reinterpret_cast<std::uint64_t>(&segment.bytes[one.offset]), one.bytes);
    auto& image = module->object.image;
    const LaunchMemory code(emu->memory, image.data(), image.size(), true);
    Launch launch{program,
                  found,
                  emu->chip,
                  chosen,
                  shape,
                  emu->memory,
                  reinterpret_cast<std::uint64_t>(segment.bytes.data()),
                  reinterpret_cast<std::uint64_t>(image.data()),
                  Findings(chosen.most_findings),
                  GlobalOrder{},
                  {},
                  Trace::open(chosen.watch_bytes == 0 ? chosen.trace : std::string())};
    launch.origins = origins_of(*emu, chosen);
    if (launch.origins != nullptr) launch.origins->begin(launch);
    const RunResult done = run(launch);
    auto made = std::make_unique<ckgen_emu_report>(ckgen_emu_report{launch.findings.take(), {}});
    if (launch.origins != nullptr) made->origin = launch.origins->end();
    fill(done, occupancy_of(found, emu->chip, shape).groups(), made->findings.size(), *result);
    *report = made.release();
    return 0;
  });
}

void ckgen_emu_report_finding(const ckgen_emu_report* report, uint32_t index, ckgen_emu_finding* out) {
  const Finding& one = report->findings[index];
  *out = {rule_name(one.rule),
          one.instruction.c_str(),
          one.what.c_str(),
          one.address,
          {one.group[0], one.group[1], one.group[2]},
          one.wave,
          one.lane,
          one.count};
}

const char* ckgen_emu_report_origin(const ckgen_emu_report* report) {
  return report->origin.c_str();
}

void ckgen_emu_report_free(ckgen_emu_report* report) {
  delete report;
}

int ckgen_emu_step(ckgen_emu* emu, const void* code, uint64_t size, const ckgen_emu_options* options,
                   ckgen_emu_wave* wave, ckgen_emu_result* result, ckgen_emu_report** report) {
  return guarded([&] {
    const Options chosen = options_of(*options);
    const Single single{{static_cast<const std::uint8_t*>(code), size}, emu->table, emu->chip, chosen, emu->memory};
    SingleState state{wave->scalars,  wave->vectors,         wave->lds, wave->lds_bytes, wave->mode,
                      wave->scc != 0, wave->all_written != 0};
    auto made = std::make_unique<ckgen_emu_report>();
    const RunResult done = run_single(single, state, made->findings);
    wave->mode = state.mode;
    wave->scc = state.scc;
    fill(done, 1, made->findings.size(), *result);
    *report = made.release();
    return 0;
  });
}

uint64_t ckgen_emu_disassemble(const ckgen_emu* emu, const void* code, uint64_t size, char* text, uint64_t room) {
  std::string all;
  const std::span<const std::uint8_t> bytes{static_cast<const std::uint8_t*>(code), size};
  Inst inst;
  char address[16];
  for (std::size_t at = 0; decode(bytes, at, static_cast<std::uint32_t>(at), emu->table, inst); at += inst.bytes) {
    std::snprintf(address, sizeof address, "%zx %u ", at, unsigned{inst.bytes});
    all.append(address).append(text_of(inst)).push_back('\n');
  }
  return give(all, text, room);
}

uint64_t ckgen_emu_opcodes(const ckgen_emu* emu, char* text, uint64_t room) {
  std::string all;
  for (const OpInfo& op : emu->table.all()) {
    all.append(format_name(op.format)).append(" ").append(op.name);
    const Semantics* known = find_semantics(op.name);
    all.append(known != nullptr && (known->traits & kRefused) == 0 ? " 1\n" : " 0\n");
  }
  return give(all, text, room);
}
