// The C API's handles, instances and selections.
#include <ckgen/version.hpp>

#include "src/c_api/support.hpp"
#include "src/operation/operation.hpp"

using ckgen::v1::detail::answer;
using ckgen::v1::detail::fill;
using ckgen::v1::detail::given;
using ckgen::v1::detail::guarded;
using ckgen::v1::detail::invalid;
using ckgen::v1::detail::ok;
using ckgen::v1::detail::problem_of;
using ckgen::v1::detail::sized;

namespace ckgen::inline v1::detail {

static_assert(sizeof(ckgen_counters::tiers) == sizeof(Counters::tiers));

Selection selection_of(const ckgen_selection& selection) noexcept {
  Selection out;
  out.instance = selection.instance;
  out.k_batch = selection.k_batch;
  out.table_m = selection.table_m;
  out.external = selection.external;
  out.tier = static_cast<Tier>(std::min(selection.tier, static_cast<std::uint32_t>(Tier::unsupported)));
  out.rule = static_cast<std::uint16_t>(selection.rule);
  out.measured = selection.measured;
  out.limit = selection.limit;
  return out;
}

void fill(const Selection& selection, ckgen_selection& out) noexcept {
  out.instance = selection.instance;
  out.k_batch = selection.k_batch;
  out.table_m = selection.table_m;
  out.external = selection.external;
  out.tier = static_cast<std::uint32_t>(selection.tier);
  out.rule = selection.rule;
  out.measured = selection.measured;
  out.limit = selection.limit;
}

namespace {

ckgen_status make_device(const Device& device, ckgen_device** out, const ckgen_message& message) noexcept {
  if (!device) return answer(device.status(), message);
  return make(out, device, message);
}

}  // namespace
}  // namespace ckgen::inline v1::detail

extern "C" {

const char* ckgen_version(void) {
  return ckgen::version();
}

uint32_t ckgen_runtime_abi(void) {
  return CKGEN_RUNTIME_ABI;
}

ckgen_status ckgen_registry_create(ckgen_registry** out, ckgen_message message) {
  if (!given(message, out)) return CKGEN_INVALID_ARGUMENT;
  return ckgen::detail::make(out, ckgen::Registry(), message);
}

void ckgen_registry_destroy(ckgen_registry* registry) {
  delete registry;
}

ckgen_status ckgen_registry_add_library(ckgen_registry* registry, const void* library, ckgen_message message) {
  if (!given(message, registry, library)) return CKGEN_INVALID_ARGUMENT;
  return answer(registry->value.add(*static_cast<const ckgen::Library*>(library)), message);
}

ckgen_status ckgen_registry_attach(ckgen_registry* registry, const void* library, ckgen_message message) {
  if (!given(message, registry, library)) return CKGEN_INVALID_ARGUMENT;
  return answer(registry->value.attach(*static_cast<const ckgen::DeviceLibrary*>(library)), message);
}

ckgen_status ckgen_registry_provide_libraries(ckgen_registry* registry, ckgen_message message) {
  if (!given(message, registry)) return CKGEN_INVALID_ARGUMENT;
  return answer(registry->value.provide_libraries(), message);
}

ckgen_status ckgen_registry_size(const ckgen_registry* registry, uint32_t* out, ckgen_message message) {
  if (!given(message, registry, out)) return CKGEN_INVALID_ARGUMENT;
  *out = registry->value.size();
  return ok(message);
}

ckgen_status ckgen_device_simulated(const char* target, uint32_t cu_num, ckgen_device** out, ckgen_message message) {
  if (!given(message, target, out)) return CKGEN_INVALID_ARGUMENT;
  return ckgen::detail::make_device(ckgen::Device::simulated(target, cu_num), out, message);
}

ckgen_status ckgen_device_host(ckgen_device** out, ckgen_message message) {
  if (!given(message, out)) return CKGEN_INVALID_ARGUMENT;
  return ckgen::detail::make_device(ckgen::Device::host(), out, message);
}

ckgen_status ckgen_device_current(ckgen_device** out, ckgen_message message) {
  if (!given(message, out)) return CKGEN_INVALID_ARGUMENT;
  return ckgen::detail::make_device(ckgen::Device::current(), out, message);
}

void ckgen_device_destroy(ckgen_device* device) {
  delete device;
}

ckgen_status ckgen_device_describe(const ckgen_device* device, ckgen_device_info* out, ckgen_message message) {
  if (!given(message, device) || !sized(message, out)) return CKGEN_INVALID_ARGUMENT;
  const ckgen::Device& value = device->value;
  out->gfx = value.gfx();
  out->brand = value.brand();
  out->note = value.note();
  out->cu_num = value.cu_num();
  out->kind = static_cast<uint32_t>(value.kind());
  out->id = value.id();
  out->reserved = 0;
  if (out->size >= sizeof *out) out->sku = value.sku();
  return ok(message);
}

ckgen_status ckgen_dispatcher_create(const ckgen_registry* registry, const ckgen_options* options,
                                     ckgen_dispatcher** out, ckgen_message message) {
  if (!given(message, registry, out) || (options != nullptr && !sized(message, options))) return CKGEN_INVALID_ARGUMENT;
  return guarded(message, [&] {
    const auto text = [](const char* value) { return std::string(value != nullptr ? value : ""); };
    ckgen::DispatcherOptions chosen =
        options == nullptr ? ckgen::DispatcherOptions::from_environment()
                           : ckgen::DispatcherOptions{options->verbose != 0, text(options->force),
                                                      text(options->record), text(options->override_file)};
    if (options != nullptr && options->size >= sizeof *options) {
      chosen.tables = text(options->tables);
      chosen.count = options->count != 0;
    }
    *out = new ckgen_dispatcher{ckgen::Dispatcher(registry->value, chosen)};
    return answer((*out)->value.status(), message);
  });
}

void ckgen_dispatcher_destroy(ckgen_dispatcher* dispatcher) {
  delete dispatcher;
}

ckgen_status ckgen_load_overrides(ckgen_dispatcher* dispatcher, const char* path, ckgen_message message) {
  if (!given(message, dispatcher, path)) return CKGEN_INVALID_ARGUMENT;
  return answer(dispatcher->value.load_overrides(path), message);
}

ckgen_status ckgen_load_tables(ckgen_dispatcher* dispatcher, const char* paths, ckgen_message message) {
  if (!given(message, dispatcher, paths)) return CKGEN_INVALID_ARGUMENT;
  return answer(dispatcher->value.load_tables(paths), message);
}

ckgen_status ckgen_tables_digest(const ckgen_dispatcher* dispatcher, uint64_t* out, ckgen_message message) {
  if (!given(message, dispatcher, out)) return CKGEN_INVALID_ARGUMENT;
  *out = dispatcher->value.tables_digest();
  return ok(message);
}

ckgen_status ckgen_loaded_tables_digest(const ckgen_dispatcher* dispatcher, uint64_t* out, ckgen_message message) {
  if (!given(message, dispatcher, out)) return CKGEN_INVALID_ARGUMENT;
  *out = dispatcher->value.loaded_tables_digest();
  return ok(message);
}

uint64_t ckgen_generation(const ckgen_dispatcher* dispatcher) {
  return dispatcher != nullptr ? dispatcher->value.generation() : 0;
}

ckgen_status ckgen_read_counters(const ckgen_dispatcher* dispatcher, ckgen_counters* out, ckgen_message message) {
  if (!given(message, dispatcher) || !sized(message, out)) return CKGEN_INVALID_ARGUMENT;
  const ckgen::Counters counters = dispatcher->value.counters();
  std::copy(std::begin(counters.tiers), std::end(counters.tiers), out->tiers);
  out->hits = counters.hits();
  out->misses = counters.misses();
  out->recorded = counters.recorded;
  out->unrecorded = counters.unrecorded;
  return ok(message);
}

ckgen_status ckgen_instance_count(const ckgen_dispatcher* dispatcher, uint32_t* out, ckgen_message message) {
  if (!given(message, dispatcher, out)) return CKGEN_INVALID_ARGUMENT;
  *out = dispatcher->value.registry().size();
  return ok(message);
}

ckgen_status ckgen_instance(const ckgen_dispatcher* dispatcher, uint32_t index, ckgen_instance_info* out,
                            ckgen_message message) {
  if (!given(message, dispatcher) || !sized(message, out)) return CKGEN_INVALID_ARGUMENT;
  if (index >= dispatcher->value.registry().size()) return invalid(message, "no instance has this index");
  const ckgen::InstanceDesc& d = dispatcher->value.registry().instance(index);
  *out = {out->size,
          d.name,
          d.id,
          d.signature.pack(),
          static_cast<uint32_t>(d.backend),
          d.archs,
          d.table_kernel != nullptr ? d.table_kernel : "",
          d.macro_tile.m,
          d.macro_tile.n,
          d.macro_tile.k,
          ckgen::detail::operation_of(d.signature.op).registering.most_splits(d),
          d.device != nullptr || dispatcher->value.registry().device_archs(index) != 0,
          d.twin != nullptr};
  return ok(message);
}

ckgen_status ckgen_instance_device_archs(const ckgen_dispatcher* dispatcher, uint32_t index, ckgen_message text) {
  if (!given(text, dispatcher)) return CKGEN_INVALID_ARGUMENT;
  if (index >= dispatcher->value.registry().size()) return invalid(text, "no instance has this index");
  const uint32_t archs = dispatcher->value.registry().device_archs(index);
  return guarded(text, [&] {
    std::string names;
    for (const ckgen::ArchInfo& info : ckgen::arch_table) {
      if ((archs >> static_cast<unsigned>(info.arch) & 1U) == 0) continue;
      names += names.empty() ? "" : ",";
      names += info.name;
    }
    ckgen::detail::write(text, names);
    return CKGEN_OK;
  });
}

ckgen_status ckgen_find_instance(const ckgen_dispatcher* dispatcher, const char* name, uint32_t* out,
                                 ckgen_message message) {
  if (!given(message, dispatcher, name, out)) return CKGEN_INVALID_ARGUMENT;
  *out = dispatcher->value.registry().find(name);
  return *out == CKGEN_NO_INDEX ? invalid(message, "no instance has this name") : ok(message);
}

ckgen_status ckgen_external(const ckgen_dispatcher* dispatcher, uint32_t index, const char** library, const char** name,
                            ckgen_message message) {
  if (!given(message, dispatcher, library, name)) return CKGEN_INVALID_ARGUMENT;
  if (index >= dispatcher->value.registry().external_count())
    return invalid(message, "no external kernel has this index");
  const ckgen::ExternalKernel& kernel = dispatcher->value.registry().external(index);
  *library = kernel.library;
  *name = kernel.name;
  return ok(message);
}

ckgen_status ckgen_select(const ckgen_dispatcher* dispatcher, const ckgen_device* device, const ckgen_problem* problem,
                          ckgen_selection* out, ckgen_message message) {
  if (!given(message, dispatcher, device) || !sized(message, problem) || !sized(message, out))
    return CKGEN_INVALID_ARGUMENT;
  fill(dispatcher->value.select(problem_of(*problem), device->value), *out);
  return ok(message);
}

ckgen_status ckgen_select_many(const ckgen_dispatcher* dispatcher, const ckgen_device* device,
                               const ckgen_problem* problems, size_t count, ckgen_selection* out,
                               ckgen_message message) {
  if (!given(message, dispatcher, device)) return CKGEN_INVALID_ARGUMENT;
  for (size_t i = 0; i < count; ++i) {
    if (!sized(message, problems) || !sized(message, out)) return CKGEN_INVALID_ARGUMENT;
    // Problems are as large as the caller's version has them; selections are stepped through by this version's struct.
    const auto* problem =
        reinterpret_cast<const ckgen_problem*>(reinterpret_cast<const char*>(problems) + i * problems->size);
    if (count > 1 && (problem->size != problems->size || out[i].size != sizeof *out))
      return invalid(message, "the structs of an array must have one size, selections this version's");
    fill(dispatcher->value.select(problem_of(*problem), device->value), out[i]);
  }
  return ok(message);
}

ckgen_status ckgen_is_tuned(const ckgen_dispatcher* dispatcher, const ckgen_device* device,
                            const ckgen_problem* problem, int32_t* out, ckgen_message message) {
  if (!given(message, dispatcher, device, out) || !sized(message, problem)) return CKGEN_INVALID_ARGUMENT;
  *out = dispatcher->value.is_tuned(problem_of(*problem), device->value) ? 1 : 0;
  return ok(message);
}

ckgen_status ckgen_next(const ckgen_dispatcher* dispatcher, const ckgen_device* device, const ckgen_problem* problem,
                        const ckgen_selection* after, ckgen_selection* out, ckgen_message message) {
  if (!given(message, dispatcher, device) || !sized(message, problem) || !sized(message, after) || !sized(message, out))
    return CKGEN_INVALID_ARGUMENT;
  fill(dispatcher->value.next(problem_of(*problem), device->value, ckgen::detail::selection_of(*after)), *out);
  return ok(message);
}

}  // extern "C"
