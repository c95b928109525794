// A registry with an instance of every op, behind the C API; its launches read no operand.
#pragma once

#include <vector>

#include <ckgen/c_api.h>

#include "fuzz.hpp"
#include "tiny_library.hpp"

namespace fuzz {

inline ckgen::Status launched(const ckgen::Launch&) noexcept {
  return ckgen::Status::success();
}

/// Signatures of the library below, and of two that it lacks.
inline const std::vector<std::uint64_t>& signatures() {
  static const std::vector<std::uint64_t> all = [] {
    std::vector<std::uint64_t> found;
    for (const char* text :
         {"gemm_fp16_rcr", "grouped_gemm_fp16_rcr", "moe_fp16_rcr_down", "fmha_bf16", "fmha_bf16_varlen_masked_lse",
          "fmha_bf16_append", "gemm_bf16_rcr_batched", "fmha_bf16_varlen_masked_blocktable",
          "gemm_int8_bf16_rcr_rowwise", "moe_bf16_rcr_layer_gated_epi_silu"}) {
      std::uint64_t number = 0;
      char why[256];
      expect(ckgen_parse_signature(text, &number, {why, sizeof why}) == CKGEN_OK, why);
      found.push_back(number);
    }
    return found;
  }();
  return all;
}

struct World {
  ckgen_registry* registry = nullptr;
  ckgen_dispatcher* dispatcher = nullptr;
  std::vector<ckgen_device*> devices;

  static const World& get() {
    static const World world;
    return world;
  }
  ~World() {
    for (ckgen_device* device : devices) ckgen_device_destroy(device);
    ckgen_dispatcher_destroy(dispatcher);
    ckgen_registry_destroy(registry);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

 private:
  World() {
    static char why[256];
    const ckgen_message message{why, sizeof why};
    expect(ckgen_registry_create(&registry, message) == CKGEN_OK, "a registry is made");
    static std::vector<ckgen::InstanceDesc> instances;
    static std::vector<ckgen::SignatureUnit> units;
    static std::vector<std::string> names;
    for (std::size_t i = 0; i < 8; ++i) names.push_back("instance" + std::to_string(i));
    for (std::size_t i = 0; i < 8; ++i) instances.push_back(instance(names[i].c_str(), i));
    for (std::size_t i = 0; i < 8; ++i)
      units.push_back(
          {names[i].c_str(), instances[i].signature, &instances[i], 1, nullptr, 0, nullptr, 0, defaults(), 2});
    static std::vector<const ckgen::SignatureUnit*> pointers;
    for (const ckgen::SignatureUnit& unit : units) pointers.push_back(&unit);
    static const ckgen::Library library{"fuzzed", CKGEN_RUNTIME_ABI, 1, pointers.data(), 8};
    expect(ckgen_registry_add_library(registry, &library, message) == CKGEN_OK, why);
    ckgen_options options{};
    options.size = sizeof options;
    expect(ckgen_dispatcher_create(registry, &options, &dispatcher, message) == CKGEN_OK, why);
    for (const char* target : {"gfx942:304", "gfx950:256", "x86_64_v3:8"})
      expect(ckgen_device_simulated(target, 0, &devices.emplace_back(), message) == CKGEN_OK, why);
  }

  static const ckgen::Defaults* defaults() {
    static const ckgen::Defaults both[] = {{ckgen::Arch::gfx942, tiny::first, 1},
                                           {ckgen::Arch::gfx950, tiny::first, 1}};
    return both;
  }

  static ckgen::InstanceDesc instance(const char* name, std::size_t index) {
    char text[ckgen::kSignatureTextSize];
    expect(ckgen_signature_text(signatures()[index], {text, sizeof text}) == CKGEN_OK, "a signature has a text");
    ckgen::InstanceDesc d =
        tiny::instance(name, index + 1, *ckgen::parse_signature(text), {16, 16, 16}, {0, 0, 0, 0, 0, 4, false});
    d.twin = launched;
    d.workspace = nullptr;
    if (d.signature.op != ckgen::Op::fmha) return d;
    d.constraints.max_k_batch = 1;
    d.fmha.m0 = d.fmha.n0 = 64;
    d.fmha.k0 = d.fmha.k1 = 32;
    d.fmha.n1 = d.fmha.hdim_v = d.fmha.hdim_q = 128;
    d.fmha.pad_q = d.fmha.pad_k = true;
    d.fmha.d_multiple = d.fmha.dv_multiple = 8;
    d.fmha.max_splits = 8;
    return d;
  }
};

}  // namespace fuzz
