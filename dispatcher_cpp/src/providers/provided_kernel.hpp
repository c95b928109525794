// One kernel of a library for one signature, and the products that it was prepared for.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include "src/providers/matmul_library.hpp"

namespace ckgen::inline v1::detail {

/// Thread-safe. A product that was run before takes no lock but where scales are handed over, which a library keeps in
/// the product's description: then one thread at a time launches it. Products are kept for the process.
class ProvidedKernel {
 public:
  ProvidedKernel(const MatmulLibrary& library, const Signature& signature, std::string_view kernel,
                 std::string_view settings);
  ProvidedKernel(const ProvidedKernel&) = delete;
  ProvidedKernel& operator=(const ProvidedKernel&) = delete;

  const char* name() const noexcept { return name_.c_str(); }
  /// Of the instance that runs it: launch, workspace and context.
  InstanceDesc instance(std::uint32_t archs) const noexcept;
  /// Whether the library takes dense operands of these sizes; prepares them.
  Status takes(const ProductSizes& sizes) const noexcept;
  Status launch(const Launch& launch) const noexcept;

 private:
  struct Key {
    int device;
    ProductShape shape;
  };
  struct Prepared {
    Key key;
    Product product;
    std::mutex mutex;  // of the pointers to scales in `product`
    const void* scales[2] = {};
    Prepared* next = nullptr;
  };
  static constexpr std::size_t kBuckets = 64;

  Status prepared(const ProductShape& shape, Prepared*& out) const noexcept;
  static Prepared* find(const Prepared* first, const Key& key) noexcept;
  Status check(const GemmArgs& args) const noexcept;
  Status launch_scaled(Prepared& prepared, const Launch& launch) const noexcept;

  const MatmulLibrary& library_;
  const Signature signature_;
  const std::string name_;
  const std::string settings_;
  // Lists that only grow, at their head and under the mutex, and are read without it.
  mutable std::mutex mutex_;
  mutable std::array<std::atomic<Prepared*>, kBuckets> prepared_{};
};

}  // namespace ckgen::inline v1::detail
