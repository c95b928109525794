// A Registry as JSON: every instance in the words of `ckgen export`.
#pragma once

#include <string>

#include <ckgen/export.h>
#include <ckgen/registry.hpp>

namespace ckgen {
inline namespace v1 {

/// {"schema": "ckgen.instances/1", "instances": […]}, in the order of their indices. Each has `name`, `id` (16 hex
/// digits), `signature` (its canonical name), `backend`, `archs`, `table_kernel`, `macro_tile`, `constraints` and
/// `strategy`, of op fmha `fmha` (its FmhaConfig) too; a Config stands in the name. The document is ASCII. Throws
/// std::bad_alloc only.
CKGEN_API std::string to_json(const Registry& registry);

}  // namespace v1
}  // namespace ckgen
