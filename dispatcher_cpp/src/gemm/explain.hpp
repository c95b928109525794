// GEMMs as text, and what other operations of products share of it.
#pragma once

#include <string>

#include <ckgen/instance.hpp>

#include "src/operation/request.hpp"

namespace ckgen::inline v1::detail {

/// As in "a8w8_blockscale fp8_fnuz·fp8_fnuz→bf16 rcr"; `words`, as in " layer gated", stand behind the layout and bias.
std::string described(const Signature& signature, const std::string& words = {});

/// As in "B=2 M=128 N=1024 K=2048".
std::string sizes_text(const Request& request);

/// As in "b0m128n1024k2048d/atomic", each size behind its letter; `own`, as in "g4", stands behind them.
std::string brief_text(const Problem& problem, const std::string& own = {});

/// What an instance asks, as in "N % 8 = 0, K % 128 = 0".
std::string demands_text(const InstanceDesc& instance, std::uint32_t k_batch);

/// As in "stream-K linear: 9 tiles of 81 iterations of K on 80 workgroups"; empty for any other instance.
std::string partition_text(const Request& request, const InstanceDesc& instance, bool supported);

}  // namespace ckgen::inline v1::detail
