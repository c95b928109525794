#include <ckgen/registry_json.hpp>

#include <cstdio>
#include <string_view>

#include <ckgen/signature_text.hpp>

#include "src/operation/json_writer.hpp"
#include "src/operation/operation.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

using detail::JsonWriter;

void write(JsonWriter& to, const Constraints& asked) {
  to.key("m_multiple").number(asked.m_multiple);
  to.key("n_multiple").number(asked.n_multiple);
  to.key("k_multiple").number(asked.k_multiple);
  to.key("k_multiple_per_split").number(asked.k_multiple_per_split);
  to.key("min_k").number(asked.min_k);
  to.key("max_k_batch").number(asked.max_k_batch);
  to.key("atomic_split").flag(asked.atomic_split);
  to.key("split_grain").number(asked.split_grain);
  to.key("max_ab").number(asked.max_ab);
  to.key("max_c").number(asked.max_c);
  to.key("split_turn").number(asked.split_turn);
  to.key("split_lead").number(asked.split_lead);
  to.key("max_m").number(asked.max_m);
  to.key("min_m").number(asked.min_m);
  to.key("measured_only").flag(asked.measured_only);
  to.key("routed").nested("{}", [&] {
    to.key("min_n").number(asked.routed.min_n);
    to.key("max_n").number(asked.routed.max_n);
    to.key("max_k").number(asked.routed.max_k);
    to.key("max_routed").number(asked.routed.max_routed);
    to.key("few_experts").number(asked.routed.few_experts);
    to.key("max_routed_few").number(asked.routed.max_routed_few);
    to.key("presorted").flag(asked.routed.presorted);
    to.key("max_weights").number(asked.routed.max_weights);
  });
}

void write(JsonWriter& to, const InstanceDesc& instance) {
  char id[17];
  std::snprintf(id, sizeof id, "%016llx", static_cast<unsigned long long>(instance.id));
  char signature[kSignatureTextSize];
  to.key("name").text(instance.name);
  to.key("id").text(id);
  to.key("signature").text({signature, canonical_text(instance.signature, signature)});
  to.key("backend").text(name(instance.backend));
  to.key("archs").nested("[]", [&] {
    for (const ArchInfo& info : arch_table) {
      if (runs_on(instance, info.arch)) to.text(info.name);
    }
  });
  to.key("table_kernel").text(instance.table_kernel);
  to.key("macro_tile").nested("{}", [&] {
    to.key("m").number(instance.macro_tile.m);
    to.key("n").number(instance.macro_tile.n);
    to.key("k").number(instance.macro_tile.k);
  });
  to.key("constraints").nested("{}", [&] { write(to, instance.constraints); });
  to.key("strategy").text(name(instance.stream_k.strategy));
  const auto write_own = detail::operation_of(instance.signature.op).registering.write;
  if (write_own != nullptr) write_own(to, instance);
}

}  // namespace

std::string to_json(const Registry& registry) {
  std::string out;
  JsonWriter to(out);
  to.nested("{}", [&] {
    to.key("schema").text("ckgen.instances/1");
    to.key("instances").nested("[]", [&] {
      for (std::uint32_t index = 0; index < registry.size(); ++index) {
        out += index == 0 ? "\n" : "";
        to.nested("{}", [&] { write(to, registry.instance(index)); });
      }
    });
  });
  out += '\n';
  return out;
}

}  // namespace v1
}  // namespace ckgen
