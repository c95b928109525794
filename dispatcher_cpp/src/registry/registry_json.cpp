#include <ckgen/registry_json.hpp>

#include <cstdio>
#include <string_view>

#include <ckgen/signature_text.hpp>

namespace ckgen {
inline namespace v1 {
namespace {

constexpr std::string_view kBackends[] = {"ck_tile", "ck", "hip", "asm", "host"};

/// Appends members and elements with the commas between them.
class Writer {
 public:
  explicit Writer(std::string& out) noexcept : out_(out) {}

  Writer& key(std::string_view name) {
    separate();
    quoted(name);
    out_ += ": ";
    fresh_ = true;
    return *this;
  }
  void text(std::string_view value) {
    separate();
    quoted(value);
  }
  void number(std::int64_t value) {
    separate();
    out_ += std::to_string(value);
  }
  void flag(bool value) {
    separate();
    out_ += value ? "true" : "false";
  }
  template <class Body>
  void nested(const char* brackets, Body body) {
    separate();
    out_ += brackets[0];
    fresh_ = true;
    body();
    out_ += brackets[1];
    fresh_ = false;
  }

 private:
  void separate() {
    if (!fresh_) out_ += ", ";
    fresh_ = false;
  }
  void quoted(std::string_view value) {
    out_ += '"';
    for (const char raw : value) {
      const auto letter = static_cast<unsigned char>(raw);
      if (letter == '"' || letter == '\\') out_ += '\\';
      if (letter >= 0x20 && letter < 0x7f) {
        out_ += raw;
      } else {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", letter);
        out_ += escape;
      }
    }
    out_ += '"';
  }
  std::string& out_;
  bool fresh_ = true;
};

void write(Writer& to, const Constraints& asked) {
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
  to.key("routed").nested("{}", [&] {
    to.key("min_n").number(asked.routed.min_n);
    to.key("max_n").number(asked.routed.max_n);
    to.key("max_k").number(asked.routed.max_k);
    to.key("few_experts").number(asked.routed.few_experts);
    to.key("max_m_few").number(asked.routed.max_m_few);
    to.key("presorted").flag(asked.routed.presorted);
    to.key("max_weights").number(asked.routed.max_weights);
  });
}

void write(Writer& to, const FmhaConfig& config) {
  to.key("m0").number(config.m0);
  to.key("n0").number(config.n0);
  to.key("k0").number(config.k0);
  to.key("n1").number(config.n1);
  to.key("k1").number(config.k1);
  to.key("hdim_q").number(config.hdim_q);
  to.key("hdim_v").number(config.hdim_v);
  to.key("pad_q").flag(config.pad_q);
  to.key("pad_k").flag(config.pad_k);
  to.key("d_multiple").number(config.d_multiple);
  to.key("dv_multiple").number(config.dv_multiple);
  to.key("max_splits").number(config.max_splits);
  to.key("page_multiple").number(config.page_multiple);
  to.key("takes_items").flag(config.takes_items);
  to.key("merge_heads").flag(config.merge_heads);
  to.key("always_combines").flag(config.always_combines);
  to.key("rotary_multiple").number(config.rotary_multiple);
  to.key("rows_together").number(config.rows_together);
  to.key("max_page").number(config.max_page);
  to.key("max_rows").number(config.max_rows);
  to.key("max_group").number(config.max_group);
  to.key("causal_only").flag(config.causal_only);
  to.key("needs_keys").flag(config.needs_keys);
  to.key("needs_finite").flag(config.needs_finite);
  to.key("cache_limit").number(config.cache_limit);
  to.key("max_keys").number(config.max_keys);
  to.key("sink_tokens").flag(config.sink_tokens);
  to.key("takes_gaps_q").flag(config.takes_gaps_q);
  to.key("topleft_slopes").flag(config.topleft_slopes);
}

void write(Writer& to, const InstanceDesc& instance) {
  char id[17];
  std::snprintf(id, sizeof id, "%016llx", static_cast<unsigned long long>(instance.id));
  char signature[kSignatureTextSize];
  const auto backend = static_cast<std::size_t>(instance.backend);
  to.key("name").text(instance.name);
  to.key("id").text(id);
  to.key("signature").text({signature, canonical_text(instance.signature, signature)});
  to.key("backend").text(backend < std::size(kBackends) ? kBackends[backend] : "unknown");
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
  if (instance.signature.op == Op::fmha) to.key("fmha").nested("{}", [&] { write(to, instance.fmha); });
}

}  // namespace

std::string to_json(const Registry& registry) {
  std::string out;
  Writer to(out);
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
