#include "src/providers/matmul_library.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include <ckgen/providers.hpp>
#include <ckgen/signature_text.hpp>

#include "src/providers/description.hpp"
#include "src/providers/provided_kernel.hpp"

namespace ckgen::inline v1::detail {
namespace {

constexpr std::int32_t kTransposed[] = {1, 112};  // CUBLAS_OP_T, HIPBLAS_OP_T
constexpr int kWishWorkspace = 1;

}  // namespace

int MatmulLibrary::type_of(DType type) noexcept {
  switch (type) {
    case DType::fp16: return 2;
    case DType::bf16: return 14;
    case DType::fp8_ocp: return 28;
    case DType::bf8_ocp: return 29;
    case DType::fp8_fnuz: return 1000;
    case DType::bf8_fnuz: return 1001;
    default: return -1;
  }
}

MatmulLibrary::MatmulLibrary(const LibraryFacts& facts) noexcept : facts_(facts), status_(Status::success()) {
  const char* path = std::getenv(facts.variable);
  const bool named = path != nullptr && *path != '\0';
  if (named) library_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  for (const char* file : facts.files)
    if (!named && library_ == nullptr) library_ = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    status_ = named ? Status::error(StatusCode::no_device, "no %s: %s", facts.title, dlerror())
                    : Status::error(StatusCode::no_device, "no %s: %s was not found", facts.title, facts.files[0]);
    return;
  }
  const bool found = find("Create", create_) && find("MatmulDescCreate", what_create_) &&
                     find("MatmulDescDestroy", what_destroy_) && find("MatmulDescSetAttribute", set_) &&
                     find("MatrixLayoutCreate", layout_create_) && find("MatrixLayoutDestroy", layout_destroy_) &&
                     find("MatmulPreferenceCreate", wish_create_) && find("MatmulPreferenceDestroy", wish_destroy_) &&
                     find("MatmulPreferenceSetAttribute", wish_set_) && find("MatmulAlgoGetHeuristic", heuristic_) &&
                     find("Matmul", matmul_);
  static_cast<void>(found);  // status_ says which is missing
}

Status MatmulLibrary::done(const char* call, int code, StatusCode kind) const noexcept {
  if (code == 0) return Status::success();
  return Status::error(code == facts_.not_supported ? StatusCode::unsupported : kind, "%s%s answered with %s error %d",
                       facts_.prefix, call, facts_.title, code);
}

Status MatmulLibrary::handle(void*& out) const noexcept {
  if (!status_.ok()) return status_;
  int device = -1;
  if (const Status status = current_device(device); !status.ok()) return status;
  try {
    const std::lock_guard lock(mutex_);
    void*& known = handles_[device];
    if (known == nullptr) {
      if (const int code = create_(&known); code != 0) return done("Create", code, StatusCode::no_device);
    }
    out = known;
    return Status::success();
  } catch (...) {
    return Status::error(StatusCode::internal, "out of memory");
  }
}

Status MatmulLibrary::version(std::string& out) const {
  void* own = nullptr;
  const Status status = handle(own);
  return status.ok() ? version_of(own, out) : status;
}

Status MatmulLibrary::check_version(std::string_view wanted) const {
  std::string here;
  if (const Status status = version(here); !status.ok()) return status;
  if (here == wanted) return Status::success();
  return Status::error(StatusCode::unsupported, "the kernel is of %s %.*s, here is %s", facts_.title,
                       static_cast<int>(wanted.size()), wanted.data(), here.c_str());
}

Status MatmulLibrary::serves(const Signature& signature) const noexcept {
  const Signature& s = signature;
  Signature plain;  // what the libraries are asked for, whatever else a signature can say
  plain.a = plain.b = s.a;
  plain.c = s.c;
  plain.quant = s.quant;
  plain.scale = s.scale;
  const bool is_wide = s.a == DType::fp16 || s.a == DType::bf16;
  const bool is_result = is_wide ? s.c == s.a : s.c == DType::fp16 || s.c == DType::bf16;
  if (s == plain && is_result && computes(s.a, s.quant)) return Status::success();
  char text[kSignatureTextSize];
  canonical_text(s, text);
  return Status::error(StatusCode::unsupported, "%s is not asked for %s", facts_.title, text);
}

Status MatmulLibrary::describe(const Signature& s, const ProductShape& shape, Product& product) const noexcept {
  if (const int code = what_create_(&product.what, facts_.compute_fp32, kTypeFp32); code != 0)
    return done("MatmulDescCreate", code);
  const std::int32_t transposed = kTransposed[facts_.runtime().vendor() == Vendor::amd ? 1 : 0];
  if (const Status status = set(product.what, facts_.trans_a, transposed); !status.ok()) return status;
  if (s.quant != Quant::none) {
    if (const Status status = describe_scales(product.what, s.quant); !status.ok()) return status;
  }
  const auto [m, n, k] = shape.sizes;
  const auto matrix = [this](void*& out, DType type, std::int64_t rows, std::int64_t columns, std::int64_t ld) {
    return layout_create_(&out, type_of(type), static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns),
                          ld);
  };
  int code = matrix(product.b, s.b, k, n, shape.ldb);
  if (code == 0) code = matrix(product.a, s.a, k, m, shape.lda);
  if (code == 0) code = matrix(product.c, s.c, n, m, shape.ldc);
  return done("MatrixLayoutCreate", code);
}

void MatmulLibrary::release(Product& product) const noexcept {
  for (void** layout : {&product.a, &product.b, &product.c}) {
    if (*layout != nullptr) static_cast<void>(layout_destroy_(*layout));
    *layout = nullptr;
  }
  if (product.what != nullptr) static_cast<void>(what_destroy_(product.what));
  product.what = nullptr;
}

Status MatmulLibrary::ask(const Product& product, int most, unsigned char* out, int& found) const noexcept {
  void* wishes = nullptr;
  if (const int code = wish_create_(&wishes); code != 0) return done("MatmulPreferenceCreate", code);
  const std::uint64_t bytes = kProviderWorkspace;
  Status status = done("MatmulPreferenceSetAttribute", wish_set_(wishes, kWishWorkspace, &bytes, sizeof bytes));
  found = 0;
  if (status.ok())
    status = done("MatmulAlgoGetHeuristic", heuristic_(product.handle, product.what, product.b, product.a, product.c,
                                                       product.c, wishes, most, out, &found));
  static_cast<void>(wish_destroy_(wishes));
  return status;
}

Status MatmulLibrary::unknown(std::string_view settings) const noexcept {
  return Status::error(StatusCode::invalid_argument, "%.*s are no settings of %s", static_cast<int>(settings.size()),
                       settings.data(), facts_.title);
}

Status MatmulLibrary::choose_first(Product& product) const noexcept {
  int found = 0;
  if (const Status status = ask(product, 1, product.answer.bytes, found); !status.ok()) return status;
  if (found > 0 && product.answer.status(facts_.algorithm_bytes) == 0) return Status::success();
  return Status::error(StatusCode::unsupported, "%s has no answer", facts_.title);
}

Status MatmulLibrary::prepare(const Signature& signature, std::string_view settings, const ProductShape& shape,
                              Product& product) const noexcept {
  Status status = handle(product.handle);
  if (status.ok()) status = describe(signature, shape, product);
  if (status.ok()) status = settings == kFirstAnswer ? choose_first(product) : choose(signature, settings, product);
  if (!status.ok()) return status;
  const std::size_t bytes = product.answer.workspace(facts_.algorithm_bytes);
  if (bytes <= kProviderWorkspace) return status;
  return Status::error(StatusCode::unsupported, "the algorithm needs %zu bytes of workspace, at most %zu", bytes,
                       kProviderWorkspace);
}

Status MatmulLibrary::set_scales(const Product& product, const GemmArgs& args) const noexcept {
  const Status status = set(product.what, facts_.scale_of_a, args.b_scale);
  return status.ok() ? set(product.what, facts_.scale_of_a + 1, args.a_scale) : status;
}

Status MatmulLibrary::run(const Product& product, const GemmArgs& args, void* workspace, void* stream) const noexcept {
  const float one = 1, zero = 0;
  return done("Matmul",
              matmul_(product.handle, product.what, &one, args.b, product.b, args.a, product.a, &zero, args.c,
                      product.c, args.c, product.c, product.answer.algorithm(), workspace, kProviderWorkspace, stream));
}

Status MatmulLibrary::kernels(const Signature& signature, const ProductSizes& sizes, std::uint32_t most,
                              std::vector<std::string>& out) const {
  out.clear();
  if (const Status status = serves(signature); !status.ok()) return status;
  std::string here;
  if (const Status status = version(here); !status.ok()) return status;
  const std::size_t size = Answer::size(facts_.algorithm_bytes);
  std::vector<unsigned char> answers(size * most);
  Product product;
  int found = 0;
  Status status = handle(product.handle);
  if (status.ok()) status = describe(signature, ProductShape::dense(sizes), product);
  if (status.ok()) status = ask(product, static_cast<int>(most), answers.data(), found);
  release(product);
  if (status.code == StatusCode::unsupported) return Status::success();  // it has none
  for (int i = 0; status.ok() && i < found; ++i) {
    Answer answer{};
    std::memcpy(answer.bytes, answers.data() + static_cast<std::size_t>(i) * size, size);
    if (answer.status(facts_.algorithm_bytes) != 0) continue;
    std::string settings;
    status = settings_of(answer, settings);
    out.push_back(here + '_' + settings);
  }
  return status;
}

Status MatmulLibrary::instance(const Signature& signature, std::string_view kernel, InstanceDesc& out) const {
  if (const Status status = serves(signature); !status.ok()) return status;
  const Description description = split_description(kernel);
  if (description.settings.empty())
    return Status::error(StatusCode::invalid_argument, "%.*s is no kernel of %s: it has no settings",
                         static_cast<int>(kernel.size()), kernel.data(), facts_.title);
  if (const Status status = check_version(description.version); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  ProvidedKernel*& known = kernels_[{signature.pack(), std::string(kernel)}];
  if (known == nullptr) known = new ProvidedKernel(*this, signature, kernel, description.settings);
  std::uint32_t archs = 0;
  for (const ArchInfo& arch : arch_table)
    if (arch.kind == ArchKind::gpu && arch.vendor == facts_.runtime().vendor())
      archs |= 1U << static_cast<unsigned>(arch.arch);
  out = known->instance(archs);
  return Status::success();
}

Status MatmulLibrary::takes(const InstanceDesc& instance, const ProductSizes& sizes) const {
  return static_cast<const ProvidedKernel*>(instance.context)->takes(sizes);
}

}  // namespace ckgen::inline v1::detail
