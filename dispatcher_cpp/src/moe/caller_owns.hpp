#pragma once

#include <ckgen/instance.hpp>

#include "src/operation/request.hpp"

namespace ckgen::inline v1::detail {

/// Whether rows leave an instance's products to the caller's own kernels. Of experts: by the rows of its product; of a
/// layer by those of either one.
Verdict products_verdict(const Request& request, const InstanceDesc& instance) noexcept;

}  // namespace ckgen::inline v1::detail
