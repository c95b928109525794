// Constants of attention that come from outside: are they fit to be used without further checks, and as JSON.
#pragma once

#include <ckgen/device_code.hpp>
#include <ckgen/library.hpp>

#include "src/operation/own_table.hpp"

namespace ckgen::inline v1::detail {

class JsonWriter;

/// What is wrong with an instance or the tables of a unit; null: nothing.
const char* fmha_instance_flaw(const InstanceDesc& instance) noexcept;
const char* fmha_unit_flaw(const SignatureUnit& unit) noexcept;
/// That an instance of another operation has what only attention has.
const char* not_attention_flaw(const InstanceDesc& instance) noexcept;
/// That GPU code has only one of what splits of KV need.
const char* fmha_stages_flaw(const DeviceCode& code) noexcept;
/// A table of a unit: an FmhaTable.
OwnTable fmha_table_of(const SignatureUnit& unit, std::uint32_t at) noexcept;

/// Whether every trait is one of its enumerators, and what only GEMMs have is as attention's signatures leave it.
bool is_known_fmha(const Signature& signature) noexcept;

/// The member `fmha` of an instance: its FmhaConfig.
void write_fmha(JsonWriter& to, const InstanceDesc& instance);

}  // namespace ckgen::inline v1::detail
