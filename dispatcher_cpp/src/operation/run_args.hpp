#pragma once

namespace ckgen {
inline namespace v1 {

struct GemmArgs;
struct GroupedArgs;
struct MoeArgs;
struct FmhaArgs;

namespace detail {

/// The arguments of one operation; the other pointers are null.
struct RunArgs {
  const GemmArgs* gemm = nullptr;
  const GroupedArgs* grouped = nullptr;
  const MoeArgs* moe = nullptr;
  const FmhaArgs* fmha = nullptr;
};

}  // namespace detail
}  // namespace v1
}  // namespace ckgen
