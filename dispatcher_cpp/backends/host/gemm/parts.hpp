// Products cut into parts that one thread computes each, for launches that hold many products.
#pragma once

#include "backends/host/gemm/blocking.hpp"
#include "backends/host/workspace.hpp"

#include <cstddef>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

constexpr double flops_of(std::int64_t m, std::int64_t n, std::int64_t k) noexcept {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

/// Either Config, as the blocking of products that differ in K.
class Cutting {
 public:
  Cutting(const GemmTraits& traits, const TwinConfig& config, std::int64_t k_batch,
          RowOrder rows = RowOrder::any) noexcept
      : traits_(traits), twin_(&config), k_batch_(k_batch), rows_(rows) {}
  Cutting(const GemmTraits& traits, const HostConfig& config, RowOrder rows = RowOrder::any) noexcept
      : traits_(traits), host_(&config), rows_(rows) {}

  const GemmTraits& traits() const noexcept { return traits_; }
  const TwinConfig* twin() const noexcept { return twin_; }  // null: an instance of the CPU's own
  std::int64_t k_batch() const noexcept { return k_batch_; }
  /// gemm_twin_supports() or gemm_host_supports(), and the split.
  Status check() const noexcept;
  /// Its `threads` is how many the whole launch may use.
  Blocking blocking(std::int64_t k) const noexcept;
  /// The same for a part.
  Blocking part_blocking(std::int64_t k) const noexcept;

 private:
  const GemmTraits& traits_;
  const TwinConfig* twin_ = nullptr;
  const HostConfig* host_ = nullptr;
  std::int64_t k_batch_ = 1;
  RowOrder rows_;
};

/// The parts of one product: `rows` x `columns` each, the last ones what is left.
struct Cut {
  std::int64_t rows, columns;
  std::int64_t down, across;

  std::int64_t count() const noexcept { return down * across; }
};

/// Parts of about `flops` of arithmetic: cut along N first, so that no two pack the same columns of B, then along M;
/// never so small that packing their operands would count. Precondition: positive m and n.
Cut cut_product(const Blocking& blocking, std::int64_t m, std::int64_t n, std::int64_t k, double flops) noexcept;

/// Computes a part of `rows` x `columns`. few_rows: by the kernels of gemm/small_m.hpp where there are such; a matter
/// of the whole product, whose bits are not to depend on how it is cut.
void run_part(const GemmTraits& traits, const Blocking& blocking, std::int64_t rows, std::int64_t columns,
              bool few_rows, const GemmArgs& args, const Part& part, void* workspace) noexcept;

/// Workspace that suffices for each part of at most m x n.
std::size_t part_bytes(const GemmTraits& traits, const Blocking& blocking, std::int64_t m, std::int64_t n,
                       std::int64_t k) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
