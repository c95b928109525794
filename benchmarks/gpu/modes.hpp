// What on_device does: one function a mode, 0 where all is right.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <ckgen/ckgen.hpp>

#include "driver.hpp"

struct Context {
  const ckgen::Registry& registry;
  const ckgen::Device& device;
  const ckgen::DeviceLibrary& built;
};

/// Every kernel in every number of splits, and cuBLASLt's own choice where it is here, against sums in double, on edge
/// and random problems; at most so many.
int check(const Context& context, const ckgen::Signature& signature, unsigned seed, std::size_t most);
/// What a launch costs its thread; graphs, and threads with streams of their own.
int host(const Context& context, const std::string& sweep_file);
/// Every kernel and cuBLASLt in turns, by the device's events: the first answer of its heuristic, and so many of its
/// answers under the names that tables have for them.
int table(const Context& context, const ckgen::Signature& signature, const std::string& sweep_file, int rounds,
          std::uint32_t answers);
/// The same two of groups, whose sizes the host knows or the device: `@device` stands behind the name then, and its
/// time holds the making of the table of groups. The peer is a loop of cuBLASLt's first answers.
int check_groups(const Context& context, const ckgen::Signature& signature, unsigned seed, std::size_t most);
int table_groups(const Context& context, const ckgen::Signature& signature, const std::string& sweep_file, int rounds);
/// Every kernel that is to give the same bytes always, so many seconds again and again on one problem after the other.
int repeat(const Context& context, const ckgen::Signature& signature, const std::string& sweep_file, double seconds);
/// A row of C in one order of additions: its bytes wherever it stands, for every M; what that costs.
int invariance(const Context& context, const ckgen::Signature& signature, const std::string& sweep_file, int rounds);

/// A product of whole lines, which lie one behind the other, without its memory.
inline ckgen::GemmArgs dense(ckgen::Layout layout, std::int64_t m, std::int64_t n, std::int64_t k) {
  ckgen::GemmArgs args{};
  args.m = m;
  args.n = args.ldc = n;
  args.k = k;
  args.lda = a_is_row_major(layout) ? k : m;
  args.ldb = b_is_row_major(layout) ? n : k;
  args.batch = 1;
  return args;
}

/// The signature of one group alone.
inline ckgen::Signature alone(ckgen::Signature signature) {
  signature.op = ckgen::Op::gemm;
  return signature;
}

inline double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

inline void must(const ckgen::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.message);
  std::exit(1);
}

inline std::string text_of(const ckgen::Signature& signature) {
  char text[ckgen::kSignatureTextSize];
  ckgen::canonical_text(signature, text);
  return text;
}

/// A kernel that has GPU code, in so many splits; of a provider's it is the library that decides about them: 0.
struct Kernel {
  std::string name;
  ckgen::Selection selection;

  bool is_provided() const { return selection.k_batch == 0; }
};

/// Those whose instance supports the problem.
inline std::vector<Kernel> able(const ckgen::Dispatcher& dispatcher, const ckgen::Problem& problem,
                                const ckgen::Device& device, const std::vector<Kernel>& kernels) {
  std::vector<std::uint32_t> instances;
  dispatcher.enumerate(
      problem, device,
      [](void* to, const ckgen::Selection& one) {
        static_cast<std::vector<std::uint32_t>*>(to)->push_back(one.instance);
        return true;
      },
      &instances);
  std::vector<Kernel> found;
  for (const Kernel& kernel : kernels) {
    const bool is_able = std::find(instances.begin(), instances.end(), kernel.selection.instance) != instances.end();
    if (is_able && (kernel.selection.k_batch == 1 || problem.k() >= 512)) found.push_back(kernel);
  }
  return found;
}

inline std::vector<Kernel> kernels_of(const ckgen::Registry& registry, const ckgen::Signature& signature) {
  std::vector<Kernel> found;
  for (std::uint32_t i = 0; i < registry.size(); ++i) {
    const ckgen::InstanceDesc& instance = registry.instance(i);
    if (instance.signature != signature) continue;
    if (instance.device != nullptr) {
      ckgen::Selection selection;
      selection.instance = i;
      selection.k_batch = 0;
      found.push_back({instance.name, selection});
    }
    if (registry.device_archs(i) == 0) continue;
    for (std::uint32_t splits = 1; static_cast<int>(splits) <= instance.constraints.max_k_batch; ++splits) {
      if (splits > 4 && splits != 8) continue;
      ckgen::Selection selection;
      selection.instance = i;
      selection.k_batch = splits;
      found.push_back({instance.name + (splits > 1 ? "/" + std::to_string(splits) : std::string()), selection});
    }
  }
  return found;
}

inline constexpr const char* kPeer = "cublaslt";

/// Adds cuBLASLt's kernel of that description to a registry.
inline ckgen::Status add_peer(ckgen::Registry& registry, const ckgen::Signature& signature,
                              const std::string& description) {
  ckgen::InstanceDesc instance{};
  const ckgen::Status status = ckgen::provider_instance(kPeer, signature, description, instance);
  return status.ok() ? registry.add(instance) : status;
}
