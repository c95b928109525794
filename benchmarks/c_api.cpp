// What the C API costs over C++: run and select of the smallest GEMM, both ways in turns. Arguments: calls in a round,
// rounds. Prints lines of rounds.hpp. Exit 1: something was refused.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <ckgen/c_api.h>
#include <bench/register.hpp>
#include <ckgen/ckgen.hpp>

#include "rounds.hpp"

extern "C" const void* ckgen_bench_library();

namespace {

constexpr char kSignature[] = "gemm_fp32_rcr";
constexpr int kM = 1, kN = 1, kK = 16;

void need(bool fine, const char* what) {
  if (fine) return;
  std::printf("refused: %s\n", what);
  std::exit(1);
}

/// Handles of the C API, for the whole program.
struct C {
  ckgen_dispatcher* dispatcher = nullptr;
  ckgen_device* device = nullptr;
  ckgen_plan* plan = nullptr;
  ckgen_problem problem{};

  C() {
    const ckgen_message none{nullptr, 0};
    ckgen_registry* registry = nullptr;
    need(ckgen_registry_create(&registry, none) == CKGEN_OK, "registry");
    need(ckgen_registry_add_library(registry, ckgen_bench_library(), none) == CKGEN_OK, "library");
    need(ckgen_dispatcher_create(registry, nullptr, &dispatcher, none) == CKGEN_OK, "dispatcher");
    need(ckgen_device_host(&device, none) == CKGEN_OK, "device");
    problem.size = sizeof problem;
    problem.m = kM, problem.n = kN, problem.k = kK, problem.batch = 1;
    need(ckgen_parse_signature(kSignature, &problem.signature, none) == CKGEN_OK, "signature");
    need(ckgen_plan_create(dispatcher, device, &problem, nullptr, &plan, none) == CKGEN_OK, "plan");
  }
};

}  // namespace

int main(int, char** words) {
  const std::vector<int> calls(static_cast<std::size_t>(std::atoi(words[1])));
  const int rounds = std::atoi(words[2]);
  std::vector<float> a(kM * kK, 1.0F), b(kN * kK, 1.0F), out(kM * kN);

  ckgen::Registry registry;
  need(bench::register_all(registry).ok(), "register_all");
  const ckgen::Dispatcher dispatcher(registry);
  const ckgen::Device device = ckgen::Device::host();
  const ckgen::Problem problem = ckgen::gemm(kSignature).shape(kM, kN, kK);
  const auto plan = dispatcher.plan(problem, device);
  need(static_cast<bool>(plan), "plan of C++");
  ckgen::GemmArgs args{};
  args.a = a.data(), args.b = b.data(), args.c = out.data();
  args.m = kM, args.n = kN, args.k = kK, args.batch = 1;
  args.lda = args.ldb = kK, args.ldc = kN;
  std::vector<unsigned char> room(plan->workspace_size + 64);
  void* workspace = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64;

  const C c;
  ckgen_gemm_args c_args{};
  c_args.size = sizeof c_args;
  c_args.a = a.data(), c_args.b = b.data(), c_args.c = out.data();
  c_args.m = kM, c_args.n = kN, c_args.k = kK, c_args.batch = 1;
  c_args.lda = c_args.ldb = kK, c_args.ldc = kN;
  char text[256];
  const ckgen_message message{text, sizeof text};

  const auto run = [&](int) -> std::uint64_t { return dispatcher.run(*plan, args, workspace, nullptr).ok() ? 1 : 0; };
  const auto c_run = [&](int) -> std::uint64_t {
    return ckgen_run(c.dispatcher, c.plan, &c_args, workspace, nullptr, message) == CKGEN_OK ? 1 : 0;
  };
  const auto select = [&](int) -> std::uint64_t { return dispatcher.select(problem, device).instance; };
  const auto c_select = [&](int) -> std::uint64_t {
    ckgen_selection found{};
    found.size = sizeof found;
    return ckgen_select(c.dispatcher, c.device, &c.problem, &found, message) == CKGEN_OK ? found.instance : 0;
  };
  need(run(0) == 1 && out[0] == kK, "run of C++");
  out[0] = 0;
  need(c_run(0) == 1 && out[0] == kK, "run of C");
  need(select(0) == c_select(0), "the same choice");
  bench::by_turns("run", calls.size(), {bench::way("c++", calls, run), bench::way("c", calls, c_run)}, rounds);
  bench::by_turns("select", calls.size(), {bench::way("c++", calls, select), bench::way("c", calls, c_select)}, rounds);
  return 0;
}
