// The one list of operations.
#include <array>

#include "src/fmha/operation.hpp"
#include "src/gemm/operation.hpp"
#include "src/grouped_gemm/operation.hpp"
#include "src/moe/operation.hpp"

namespace ckgen::inline v1::detail {
namespace {

constexpr std::array<const Operation*, 4> kOperations = {&gemm_operation, &grouped_gemm_operation, &moe_operation,
                                                         &fmha_operation};

}  // namespace

constinit const std::span<const Operation* const> operations(kOperations);

}  // namespace ckgen::inline v1::detail
