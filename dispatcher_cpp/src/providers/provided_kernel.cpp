#include "src/providers/provided_kernel.hpp"

#include <memory>
#include <new>

#include <ckgen/host_launch.hpp>
#include <ckgen/providers.hpp>
#include <ckgen/signature_text.hpp>

namespace ckgen::inline v1::detail {
namespace {

constexpr std::uintptr_t kAlignment = 16;
constexpr std::int32_t kScaleBlock = 128;

/// FNV-1a, of 64 bits.
std::uint64_t id_of(std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

std::string instance_name(const MatmulLibrary& library, const Signature& signature, std::string_view kernel) {
  char text[kSignatureTextSize];
  canonical_text(signature, text);
  return (std::string(text) + '_' + library.name() + '_').append(kernel);
}

/// Rows of all operands in whole units of 16 bytes; with block scales also what the libraries ask of those: whole
/// blocks of B, columns of A's scales in such units, and rows of B's scales, which they pad to four.
Constraints constraints_of(const Signature& s) noexcept {
  const auto unit = [](DType type) { return static_cast<std::int32_t>(8 * kAlignment) / bits(type); };
  Constraints asked{};
  asked.k_multiple = unit(s.a);
  asked.n_multiple = unit(s.a);
  asked.max_k_batch = 1;
  if (s.quant == Quant::blockscale) {
    asked.m_multiple = 4;
    asked.n_multiple = kScaleBlock;
    asked.k_multiple = 4 * kScaleBlock;
  }
  return asked;
}

Status launch_provided(const Launch& launch) noexcept {
  return static_cast<const ProvidedKernel*>(launch.instance->context)->launch(launch);
}

/// What the libraries may use, and no less than the twin.
std::size_t workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch,
                         std::uint32_t workgroups) noexcept {
  const std::size_t twin = gemm_twin_workspace_of(instance, problem, k_batch, workgroups);
  return twin > kProviderWorkspace ? twin : kProviderWorkspace;
}

bool is_equal(const ProductShape& x, const ProductShape& y) noexcept {
  return x.sizes.m == y.sizes.m && x.sizes.n == y.sizes.n && x.sizes.k == y.sizes.k && x.lda == y.lda &&
         x.ldb == y.ldb && x.ldc == y.ldc;
}

}  // namespace

ProvidedKernel::ProvidedKernel(const MatmulLibrary& library, const Signature& signature, std::string_view kernel,
                               std::string_view settings)
    : library_(library), signature_(signature), name_(instance_name(library, signature, kernel)), settings_(settings) {}

InstanceDesc ProvidedKernel::instance(std::uint32_t archs) const noexcept {
  InstanceDesc own{};
  own.name = name();
  own.id = id_of(name_);
  own.signature = signature_;
  own.backend = Backend::asm_;  // code that a vendor ships
  own.archs = archs;
  own.table_kernel = "";
  own.macro_tile = {128, 128, 64};  // of the twin
  own.constraints = constraints_of(signature_);
  own.twin_config = {own.macro_tile.m, own.macro_tile.n, own.macro_tile.k, 0, true, true, true};
  own.workspace = workspace_of;
  own.device = launch_provided;
  own.twin = launch_gemm_twin;
  own.context = const_cast<ProvidedKernel*>(this);
  return own;
}

Status ProvidedKernel::takes(const ProductSizes& sizes) const noexcept {
  Prepared* entry = nullptr;
  return prepared(ProductShape::dense(sizes), entry);
}

ProvidedKernel::Prepared* ProvidedKernel::find(const Prepared* first, const Key& key) noexcept {
  for (; first != nullptr; first = first->next)
    if (first->key.device == key.device && is_equal(first->key.shape, key.shape)) break;
  return const_cast<Prepared*>(first);
}

Status ProvidedKernel::prepared(const ProductShape& shape, Prepared*& out) const noexcept {
  Key key{-1, shape};
  if (const Status status = library_.current_device(key.device); !status.ok()) return status;
  std::atomic<Prepared*>& head = prepared_[static_cast<std::size_t>(shape.sizes.m) % kBuckets];
  out = find(head.load(std::memory_order_acquire), key);
  if (out != nullptr) return Status::success();
  const std::lock_guard lock(mutex_);
  Prepared* const first = head.load(std::memory_order_relaxed);
  out = find(first, key);
  if (out != nullptr) return Status::success();
  std::unique_ptr<Prepared> made(new (std::nothrow) Prepared);
  if (!made) return Status::error(StatusCode::internal, "out of memory");
  made->key = key;
  made->next = first;
  if (const Status status = library_.prepare(signature_, settings_, shape, made->product); !status.ok()) {
    library_.release(made->product);
    return status;
  }
  out = made.release();
  head.store(out, std::memory_order_release);
  return Status::success();
}

Status ProvidedKernel::check(const GemmArgs& args) const noexcept {
  const auto is_off = [](const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % kAlignment != 0; };
  const auto is_odd = [](DType type, std::int64_t ld) {
    return static_cast<std::uint64_t>(bytes_of(type, ld)) % kAlignment != 0;
  };
  if (is_off(args.a) || is_off(args.b) || is_off(args.c) || is_odd(signature_.a, args.lda) ||
      is_odd(signature_.b, args.ldb) || is_odd(signature_.c, args.ldc))
    return Status::error(StatusCode::invalid_argument, "%s takes matrices whose rows begin at multiples of %zu bytes",
                         library_.name(), static_cast<std::size_t>(kAlignment));
  if (signature_.quant == Quant::blockscale && args.a_scale_row_major)
    return Status::error(StatusCode::invalid_argument, "%s takes scales of A as [K/%d][M], not a_scale_row_major",
                         library_.name(), kScaleBlock);
  return Status::success();
}

Status ProvidedKernel::launch(const Launch& launch) const noexcept {
  const GemmArgs& args = *launch.args;
  if (const Status status = check(args); !status.ok()) return status;
  Prepared* entry = nullptr;
  const ProductShape shape{{args.m, args.n, args.k}, args.lda, args.ldb, args.ldc};
  if (const Status status = prepared(shape, entry); !status.ok()) return status;
  if (signature_.quant != Quant::none) return launch_scaled(*entry, launch);
  return library_.run(entry->product, args, launch.workspace, launch.stream);
}

Status ProvidedKernel::launch_scaled(Prepared& entry, const Launch& launch) const noexcept {
  const GemmArgs& args = *launch.args;
  const std::lock_guard lock(entry.mutex);
  if (entry.scales[0] != args.a_scale || entry.scales[1] != args.b_scale) {
    entry.scales[0] = entry.scales[1] = nullptr;  // unless both are set
    if (const Status status = library_.set_scales(entry.product, args); !status.ok()) return status;
    entry.scales[0] = args.a_scale;
    entry.scales[1] = args.b_scale;
  }
  return library_.run(entry.product, args, launch.workspace, launch.stream);
}

}  // namespace ckgen::inline v1::detail
