// What cuBLASLt and hipBLASLt share: functions of the same names and arguments, with codes of their own. C is row-major
// and the libraries' matrices are column-major, so what they compute is C^T = B A^T: their first operand is our B.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include <ckgen/gemm_types.hpp>

#include "src/gpu/runtime.hpp"
#include "src/providers/provider.hpp"

namespace ckgen::inline v1::detail {

class ProvidedKernel;

inline constexpr int kTypeFp32 = 0;  // of both libraries

/// What differs between libraries and is a fact of their headers.
struct LibraryFacts {
  const char* name;
  const char* title;  // as messages say it
  const char* prefix;
  const char* variable;  // names the library's file
  const char* files[2];  // else the first of these that the loader finds
  const GpuRuntime& (*runtime)() noexcept;
  std::size_t algorithm_bytes;
  int compute_fp32;
  int trans_a;        // attributes of a product's description; those of B are the next ones
  int scale_of_a;     // the pointer
  int not_supported;  // the code of a call that cannot serve what it is asked
};

/// An algorithm, and behind it the workspace that it needs and a status: both libraries' heuristic result.
struct Answer {
  static constexpr std::size_t kMost = 96;

  void* algorithm() noexcept { return bytes; }
  const void* algorithm() const noexcept { return bytes; }
  std::size_t workspace(std::size_t algorithm_bytes) const noexcept { return read<std::size_t>(algorithm_bytes); }
  int status(std::size_t algorithm_bytes) const noexcept { return read<int>(algorithm_bytes + sizeof(std::size_t)); }
  /// Of an answer, as the libraries lay them out one behind the other.
  static std::size_t size(std::size_t algorithm_bytes) noexcept { return algorithm_bytes + 32; }

  alignas(8) unsigned char bytes[kMost];

 private:
  template <class Value>
  Value read(std::size_t at) const noexcept {
    Value value;
    std::memcpy(&value, bytes + at, sizeof value);
    return value;
  }
};

/// A product as a library describes it, with the algorithm that was chosen for it.
struct Product {
  void* handle = nullptr;  // the library's, of the device that the product was prepared on
  void* what = nullptr;
  void* b = nullptr;  // matrices by our names
  void* a = nullptr;
  void* c = nullptr;
  Answer answer{};
};

/// Sizes, and leading dimensions of A, B and C.
struct ProductShape {
  ProductSizes sizes;
  std::int64_t lda, ldb, ldc;

  static ProductShape dense(const ProductSizes& sizes) noexcept { return {sizes, sizes.k, sizes.k, sizes.n}; }
};

class MatmulLibrary : public Provider {
 public:
  const char* name() const noexcept { return facts_.name; }
  Status version(std::string& out) const final;
  Status kernels(const Signature& signature, const ProductSizes& sizes, std::uint32_t most,
                 std::vector<std::string>& out) const final;
  Status instance(const Signature& signature, std::string_view kernel, InstanceDesc& out) const final;
  Status takes(const InstanceDesc& instance, const ProductSizes& sizes) const final;

  /// What a kernel with these settings needs for a product; `product` is the caller's to release. Asks no GPU for work,
  /// so a stream may be captured meanwhile.
  Status prepare(const Signature& signature, std::string_view settings, const ProductShape& shape,
                 Product& product) const noexcept;
  void release(Product& product) const noexcept;
  Status run(const Product& product, const GemmArgs& args, void* workspace, void* stream) const noexcept;
  Status set_scales(const Product& product, const GemmArgs& args) const noexcept;
  /// Of the calling thread.
  Status current_device(int& id) const noexcept { return facts_.runtime().current_device(id); }

 protected:
  explicit MatmulLibrary(const LibraryFacts& facts) noexcept;
  ~MatmulLibrary() = default;

  /// MAJOR.MINOR.PATCH.
  virtual Status version_of(void* handle, std::string& out) const = 0;
  /// Whether it computes C of A and B of that type under those scales.
  virtual bool computes(DType type, Quant quant) const noexcept = 0;
  /// What a product's description says of scales beside their pointers.
  virtual Status describe_scales(void* what, Quant quant) const noexcept = 0;
  /// An algorithm's settings as tables name them.
  virtual Status settings_of(const Answer& answer, std::string& out) const = 0;
  /// The algorithm with those settings, for a product.
  virtual Status choose(const Signature& signature, std::string_view settings, Product& product) const noexcept = 0;

  template <class Function>
  bool find(const char* name, Function*& out) noexcept;
  /// The call and its code; `unsupported` where the library says that.
  Status done(const char* call, int code, StatusCode kind = StatusCode::internal) const noexcept;
  template <class Value>
  Status set(void* what, int attribute, const Value& value) const noexcept {
    return done("MatmulDescSetAttribute", set_(what, attribute, &value, sizeof value));
  }
  /// The heuristic's answers for a product, at most `most` of them, one behind the other in `out`.
  Status ask(const Product& product, int most, unsigned char* out, int& found) const noexcept;
  Status unknown(std::string_view settings) const noexcept;
  /// The code that both vendors give a type of elements.
  static int type_of(DType type) noexcept;

  const LibraryFacts& facts_;
  Status status_;  // whether it was opened, and has every function that is asked for

 private:
  Status serves(const Signature& signature) const noexcept;
  Status handle(void*& out) const noexcept;
  Status describe(const Signature& signature, const ProductShape& shape, Product& product) const noexcept;
  Status choose_first(Product& product) const noexcept;
  Status check_version(std::string_view wanted) const;

  void* library_ = nullptr;
  int (*create_)(void**) = nullptr;
  int (*what_create_)(void**, int, int) = nullptr;
  int (*what_destroy_)(void*) = nullptr;
  int (*set_)(void*, int, const void*, std::size_t) = nullptr;
  int (*layout_create_)(void**, int, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
  int (*layout_destroy_)(void*) = nullptr;
  int (*wish_create_)(void**) = nullptr;
  int (*wish_destroy_)(void*) = nullptr;
  int (*wish_set_)(void*, int, const void*, std::size_t) = nullptr;
  int (*heuristic_)(void*, void*, void*, void*, void*, void*, void*, int, void*, int*) = nullptr;
  int (*matmul_)(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
                 void*, void*, const void*, void*, std::size_t, void*) = nullptr;

  mutable std::mutex mutex_;              // of what follows, which a process keeps
  mutable std::map<int, void*> handles_;  // by device
  mutable std::map<std::pair<std::uint64_t, std::string>, ProvidedKernel*> kernels_;  // by signature and name
};

template <class Function>
bool MatmulLibrary::find(const char* name, Function*& out) noexcept {
  char whole[64];
  std::snprintf(whole, sizeof whole, "%s%s", facts_.prefix, name);
  out = reinterpret_cast<Function*>(dlsym(library_, whole));
  if (out == nullptr && status_.ok())
    status_ = Status::error(StatusCode::no_device, "the %s here has no %s", facts_.title, whole);
  return out != nullptr;
}

}  // namespace ckgen::inline v1::detail
