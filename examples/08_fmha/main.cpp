// Attention by words: one problem planned, run and held against the formulas. Exit code 2 where it is refused.
#include <cstdio>

#include <ckgen/ckgen.hpp>
#include <my_kernels/register.hpp>

#include "data.hpp"
#include "options.hpp"

namespace {

int refused(const char* why) {
  std::printf("refused: %s\n", why);
  return 2;
}

}  // namespace

int main(int count, char** words) {
  Options options;
  if (const std::string wrong = read(count, words, options); !wrong.empty()) return refused(wrong.c_str());
  ckgen::Registry registry;
  if (const ckgen::Status status = my_kernels::register_all(registry); !status.ok()) return refused(status.message);
  const ckgen::Dispatcher dispatcher(registry);
  const ckgen::Device device =
      options.device == "host" ? ckgen::Device::host() : ckgen::Device::simulated(options.device);

  const auto plan = dispatcher.plan(ckgen::fmha(options.signature_text).fmha(options.shape), device);
  if (!plan) return refused(plan.status().message);
  Data data(options);
  if (const ckgen::Status status = dispatcher.run(*plan, data.args, nullptr); !status.ok())
    return refused(status.message);

  const double error = data.error();
  const double bound = options.signature.c == ckgen::DType::fp32 ? 1e-5 : 1.0 / 64;
  std::printf("%s: %s, %u part%s of the keys\n%s: O within %.1e\n", device.gfx(),
              registry.instance(plan->selection.instance).name, plan->selection.k_batch,
              plan->selection.k_batch == 1 ? "" : "s", error <= bound ? "correct" : "wrong", error);
  return error <= bound ? 0 : 1;
}
