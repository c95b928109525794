// The ways that a GEMM takes on the CPU, for tests of what holds on each.
#pragma once

#include "backends/host/gemm/gemm.hpp"
#include "backends/host/host_fixture.hpp"

#include <functional>
#include <vector>

namespace host_test {

inline constexpr host::TwinConfig kWayTile{32, 64, 32, 1, true, true, true};
inline constexpr host::HostConfig kWayOwn{host::Isa::x86_64_v3, 6, 16, 64, 64, 64, 2};

using Run = std::function<Status(const GemmTraits&, const GemmArgs&)>;

struct Way {
  const char* what;
  Run run;
};

inline const std::vector<Way>& gemm_ways() {
  static const std::vector<Way> all = {

      {"twin",
       [](const GemmTraits& t, const GemmArgs& x) {
         const Workspace w(host::gemm_twin_workspace(t, kWayTile, 1, x.m, x.n, x.k, x.batch));
         return host::run_gemm_twin(t, kWayTile, 1, x, w.data);
       }},
      {"of the CPU",
       [](const GemmTraits& t, const GemmArgs& x) {
         const Workspace w(host::gemm_host_workspace(t, kWayOwn, x.m, x.n, x.k, x.batch));
         return host::run_gemm_host(t, kWayOwn, x, w.data);
       }},
      {"twin's stream-K",
       [](const GemmTraits& t, const GemmArgs& x) {
         const Workspace w(host::gemm_twin_stream_k_workspace(t, kWayTile, Strategy::tree, 5, x.m, x.n, x.k, x.batch));
         return host::run_gemm_twin_stream_k(t, kWayTile, Strategy::tree, 5, x, w.data);
       }},
      {"stream-K of the CPU",
       [](const GemmTraits& t, const GemmArgs& x) {
         const Workspace w(host::gemm_host_stream_k_workspace(t, kWayOwn, Strategy::linear, 4, x.m, x.n, x.k, x.batch));
         return host::run_gemm_host_stream_k(t, kWayOwn, Strategy::linear, 4, x, w.data);
       }},
  };
  return all;
}

}  // namespace host_test
