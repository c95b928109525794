// Rows about attention of tables that a program loads.
#pragma once

#include <string>

#include "src/operation/file_row.hpp"
#include "src/operation/request.hpp"
#include "src/operation/shape.hpp"

namespace ckgen::inline v1::detail {

/// All sizes are words of the column `sizes`, as in "batch=2 heads_q=32 … mask=b:-1;0"; B, M, N and K say nothing. Of
/// pages that the row does not count there are as many as the keys need.
std::string read_fmha_shape(const FileRow& row, const Signature& signature, ShapeProblem& shape);

/// What FmhaContext has is the same, and both lengths are rounded up.
void fmha_measured_key(const Request& request, MeasuredKey& key) noexcept;

}  // namespace ckgen::inline v1::detail
