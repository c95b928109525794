// Attention instances that only note how they are launched.
#pragma once

#include <gtest/gtest.h>

#include <list>
#include <string>

#include "tiny_library.hpp"

namespace tiny {

inline std::string numbered(const char* word, std::uint64_t number) {
  std::string text(word);
  text += std::to_string(number);
  return text;
}

constexpr Signature attention(const FmhaTraits& traits = {}, DType type = DType::bf16) {
  Signature s{Op::fmha, type, type, type};
  s.fmha = traits;
  return s;
}

/// Tiles of m0 x n0 for head dims up to `hdim_q` and `hdim_v`, all padded.
constexpr FmhaConfig padded(std::int32_t m0, std::int32_t n0, std::int32_t hdim_q, std::int32_t hdim_v) {
  FmhaConfig c;
  c.m0 = m0;
  c.n0 = n0;
  c.k0 = c.k1 = 32;
  c.n1 = c.hdim_v = hdim_v;
  c.hdim_q = hdim_q;
  c.pad_q = c.pad_k = true;
  c.d_multiple = c.dv_multiple = 8;
  return c;
}

/// The same for whole tiles of exactly these head dims.
constexpr FmhaConfig exact(std::int32_t m0, std::int32_t n0, std::int32_t hdim_q, std::int32_t hdim_v) {
  FmhaConfig c = padded(m0, n0, hdim_q, hdim_v);
  c.pad_q = c.pad_k = false;
  c.d_multiple = c.dv_multiple = 0;
  return c;
}

constexpr FmhaShape sizes(std::int64_t batch, std::int32_t heads_q, std::int32_t heads_k, std::int64_t seqlen_q,
                          std::int64_t seqlen_k, std::int32_t hdim_q, std::int32_t hdim_v) {
  FmhaShape x;
  x.batch = batch;
  x.heads_q = heads_q;
  x.heads_k = heads_k;
  x.seqlen_q = seqlen_q;
  x.seqlen_k = seqlen_k;
  x.hdim_q = hdim_q;
  x.hdim_v = hdim_v;
  return x;
}

/// What the launches of a test's instances were given.
struct FmhaSeen {
  int launches = 0;
  const FmhaArgs* args = nullptr;
  void* workspace = nullptr;
  std::uint32_t splits = 0;
  FmhaShape shape;
};

inline Status keep_fmha(const Launch& launch) noexcept {
  FmhaSeen& seen = *static_cast<FmhaSeen*>(launch.instance->context);
  ++seen.launches;
  seen.args = launch.fmha;
  seen.workspace = launch.workspace;
  seen.splits = launch.k_batch;
  seen.shape = launch.problem->fmha();
  return launch.args == nullptr && launch.grouped == nullptr && launch.moe == nullptr
             ? Status::success()
             : Status::error(StatusCode::internal, "arguments of another op");
}

/// fp32 scores of all rows and splits, in 64 bits.
inline std::size_t score_bytes(const InstanceDesc&, const Problem& problem, std::uint32_t splits,
                               std::uint32_t) noexcept {
  const FmhaShape& x = problem.fmha();
  return static_cast<std::size_t>(x.batch * x.heads_q * x.seqlen_q * x.seqlen_k) * 4 * splits;
}

class FmhaTest : public ::testing::Test {
 protected:
  InstanceDesc described(const std::string& name, const FmhaConfig& config, const Signature& signature) {
    const char* kept = names_.emplace_back(name).c_str();
    InstanceDesc d =
        instance(kept, names_.size(), signature, {config.m0, config.n1, config.n0}, {0, 0, 0, 0, 0, 1, false});
    d.fmha = config;
    d.twin = keep_fmha;
    d.workspace = nullptr;
    d.context = &seen;
    return d;
  }
  void add(const InstanceDesc& desc) {
    const Status status = registry.add(desc);
    ASSERT_TRUE(status.ok()) << status.message;
  }
  void add(const std::string& name, const FmhaConfig& config, const Signature& signature = attention()) {
    add(described(name, config, signature));
  }
  Dispatcher dispatcher() const { return Dispatcher(registry, DispatcherOptions{}); }

  /// The name of what is chosen, or the reason why nothing is.
  std::string chosen(const FmhaShape& shape, const Signature& signature = attention()) const {
    const Dispatcher own = dispatcher();
    const Selection selection = own.select(Problem(signature).fmha(shape), device);
    return selection ? own.registry().instance(selection.instance).name : reason(selection);
  }

  FmhaSeen seen;
  Registry registry;
  Device device = Device::simulated("gfx942");

 private:
  std::list<std::string> names_;
};

}  // namespace tiny
