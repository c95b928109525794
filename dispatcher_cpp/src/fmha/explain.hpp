// Attention problems and instances as text.
#pragma once

#include <cstdint>
#include <string>

#include <ckgen/fmha.hpp>
#include <ckgen/signature.hpp>

namespace ckgen::inline v1::detail {

/// As in "fmha bf16·bf16→bf16 masked lse".
std::string fmha_described(const Signature& signature);

/// As in "batch=2 heads_q=32 heads_k=8 seqlen_q=128 seqlen_k=4096 hdim_q=128 hdim_v=128 mask=b:-1,0", with what the
/// traits have a use for: a mask is its corner, the window's left and right, and sink tokens if any.
std::string fmha_sizes(const FmhaTraits& traits, const FmhaShape& shape);

/// What an instance asks, as in "hdim_q = 128, hdim_v ≤ 128, seqlen_q % 128 = 0".
std::string fmha_demands(const FmhaConfig& config);

/// The splits of keys that were weighed, as in "splits: 1 costs 4096, 5 costs 1024".
std::string fmha_splits(const FmhaConfig& config, const FmhaTraits& traits, const FmhaShape& shape,
                        std::uint32_t cu_num);

}  // namespace ckgen::inline v1::detail
