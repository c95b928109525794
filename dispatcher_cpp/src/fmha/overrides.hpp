// What override files tell shapes of attention apart by.
#pragma once

#include "src/operation/file_row.hpp"
#include "src/operation/request.hpp"

namespace ckgen::inline v1::detail {

/// B, and the columns heads_q, heads_k, hdim_v and mask: `none`, or LEFT:RIGHT[:SINK] behind `b:` or `t:` where masked.
/// An empty string, or why the row is left out.
std::string read_fmha_override(const FileRow& row, const Signature& signature, OverrideKey& key);

/// `b:` or `t:`, then LEFT, RIGHT and perhaps SINK with the separator between them. Whether it is one.
bool read_fmha_mask(std::string_view text, char separator, FmhaShape& shape) noexcept;

/// OverrideKey::own of a problem: heads, hdim_v and, where masked, the mask.
void fmha_override_key(const Request& request, OverrideKey& key) noexcept;

}  // namespace ckgen::inline v1::detail
