// A mock library as a provider: what a test asks of it, tables that name its kernels, and products with their results.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <ckgen/ckgen.hpp>

#include "mock_lt/mock_lt.hpp"
#include "tiny_library.hpp"

namespace provided {

using namespace ckgen;

/// What a mock offers beside the library, found as ckgen finds it.
struct MockLt {
  explicit MockLt(const char* file) {
    void* library = dlopen(file, RTLD_NOW);
    if (library == nullptr) std::abort();
    const auto find = [&]<class Function>(Function*& out, const char* name) {
      out = reinterpret_cast<Function*>(dlsym(library, name));
      if (out == nullptr) std::abort();
    };
    find(counts, "mock_lt_counts");
    find(last_product, "mock_lt_last_product");
    find(fail, "mock_lt_fail");
    find(version, "mock_lt_version");
  }
  decltype(&mock_lt_counts) counts;
  decltype(&mock_lt_last_product) last_product;
  decltype(&mock_lt_fail) fail;
  decltype(&mock_lt_version) version;
};

inline constexpr std::int64_t kM = 8, kN = 32, kK = 192;  // of the tables

/// A registry's data of one signature: an instance that may answer anything, and a table whose row of M = 8, N = 32,
/// K = 192 names a kernel. Must outlive what is made of it.
class OneRow {
 public:
  OneRow(const char* name, const Signature& signature, Arch arch, std::uint32_t cu_num, const char* library,
         const std::string& kernel)
      : kernel_(kernel), own_(tiny::instance("own", 0, signature, {64, 64, 64}, {0, 0, 0, 0, 0, 1, false})) {
    own_.name = name;
    own_.id = std::hash<std::string>{}(name);
    own_.archs = tiny::bit(arch);
    external_ = {library, kernel_.c_str()};
    rung_ = {kM, kM, 1, {0, 1}};
    group_ = {kN, kK, 0, 0, 1, nullptr, &rung_, nullptr, 0};
    slots_[group_slot(kN, kK, 0, 1)] = 1;
    table_ = {arch, cu_num, slots_, 1, &group_, 1, &external_, 1, &tiny::policy};
    defaults_ = {arch, &first_, 1};
    unit_ = {name, signature, &own_, 1, &tables_, 1, nullptr, 0, &defaults_, 1};
  }
  OneRow(const OneRow&) = delete;
  OneRow& operator=(const OneRow&) = delete;

  Status add_to(Registry& registry) { return registry.add(library_); }
  const Library& library() const { return library_; }

 private:
  std::string kernel_;
  InstanceDesc own_;
  ExternalKernel external_{};
  Rung rung_{};
  Group group_{};
  std::uint16_t slots_[2] = {};
  LookupTable table_{};
  const LookupTable* tables_ = &table_;
  std::uint16_t first_ = 0;
  Defaults defaults_{};
  SignatureUnit unit_{};
  const SignatureUnit* units_ = &unit_;
  Library library_{"one row", CKGEN_RUNTIME_ABI, 0x77, &units_, 1};
};

/// Integers from -2 to 2 as elements of bf16, fp16 or fp8 with four bits of exponent.
inline std::uint16_t element(DType type, int value) {
  constexpr std::uint16_t kOne[] = {0x3f80, 0x3c00, 0x38}, kTwo[] = {0x4000, 0x4000, 0x40};
  const int kind = type == DType::bf16 ? 0 : type == DType::fp16 ? 1 : 2;
  const std::uint16_t size = value == 0 ? 0 : std::abs(value) == 1 ? kOne[kind] : kTwo[kind];
  return static_cast<std::uint16_t>(size | (value < 0 ? kind == 2 ? 0x80 : 0x8000 : 0));
}

/// Operands whose product every type holds exactly, with rows of C in a wider matrix, and the product by the formulas
/// of gemm_types.hpp.
class Operands {
 public:
  Operands(const Signature& signature, std::int64_t m, std::int64_t n, std::int64_t k)
      : signature_(signature), m_(m), n_(n), k_(k), ldc_(n + 8) {
    const auto fill = [&](std::vector<std::uint16_t>& to, std::vector<int>& values, std::int64_t rows, int seed) {
      const std::size_t bytes = bits(signature.a) / 8;
      values.resize(static_cast<std::size_t>(rows * k));
      to.resize(values.size() * bytes / 2 + 8);
      for (std::size_t i = 0; i < values.size(); ++i) {
        std::size_t drawn = (i + static_cast<std::size_t>(seed) * 1000000) * 0x9e3779b97f4a7c15ULL;
        drawn = (drawn ^ drawn >> 29) * 0xbf58476d1ce4e5b9ULL >> 40;
        values[i] = drawn % 5 != 0 ? 0 : drawn / 5 % 2 == 0 ? 1 : -2;  // few enough for sums of eight bits
        const std::uint16_t bits = element(signature.a, values[i]);
        std::memcpy(reinterpret_cast<char*>(to.data()) + i * bytes, &bits, bytes);
      }
    };
    fill(a_, a_values_, m, 1);
    fill(b_, b_values_, n, 3);
    const auto groups = static_cast<std::size_t>((k + 127) / 128);
    const bool is_blocked = signature.quant == Quant::blockscale, is_of_rows = signature.quant == Quant::rowwise;
    const auto rows = static_cast<std::size_t>(m), columns = static_cast<std::size_t>(n);
    a_scales_.resize(is_blocked ? groups * rows : is_of_rows ? rows : 1);
    b_scales_.resize(is_blocked ? groups * ((columns + 127) / 128) : is_of_rows ? columns : 1);
    for (std::size_t i = 0; i < a_scales_.size(); ++i) a_scales_[i] = std::ldexp(1.0F, static_cast<int>(i % 3 == 0));
    for (std::size_t i = 0; i < b_scales_.size(); ++i)
      b_scales_[i] = std::ldexp(1.0F, -static_cast<int>(i * 5 % 4 == 1));
    c_.resize(static_cast<std::size_t>(m * ldc_), 0xffff);
  }

  GemmArgs args() {
    GemmArgs args{};
    args.a = a_.data();
    args.b = b_.data();
    args.c = c_.data();
    args.a_scale = a_scales_.data();
    args.b_scale = b_scales_.data();
    args.m = m_;
    args.n = n_;
    args.k = args.lda = args.ldb = k_;
    args.ldc = ldc_;
    args.batch = 1;
    return args;
  }
  Problem problem() const { return Problem(signature_).shape(m_, n_, k_); }

  /// The scales of all others by this power of two.
  void scale_all(int power) {
    for (float& scale : a_scales_) scale = std::ldexp(scale, power);
  }
  void clear() { c_.assign(c_.size(), 0xffff); }

  /// How many elements of C, and of the gaps between its rows, are wrong.
  int wrong() const {
    int count = 0;
    for (std::int64_t row = 0; row < m_; ++row)
      for (std::int64_t column = 0; column < ldc_; ++column) {
        const std::uint16_t bits = c_[static_cast<std::size_t>(row * ldc_ + column)];
        count += column >= n_ ? bits != 0xffff : value_of(bits) != expected(row, column);
      }
    return count;
  }

 private:
  double value_of(std::uint16_t bits) const {
    if (signature_.c == DType::bf16) {
      const std::uint32_t wide = std::uint32_t{bits} << 16;
      float value = 0;
      std::memcpy(&value, &wide, sizeof value);
      return double{value};
    }
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double size = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
    return bits & 0x8000 ? -size : size;
  }
  double expected(std::int64_t row, std::int64_t column) const {
    double sum = 0;
    for (std::int64_t k = 0; k < k_; ++k)
      sum += a_values_[static_cast<std::size_t>(row * k_ + k)] * b_values_[static_cast<std::size_t>(column * k_ + k)] *
             scale(row, column, k);
    return sum;
  }
  double scale(std::int64_t row, std::int64_t column, std::int64_t k) const {
    const auto at = [](const std::vector<float>& scales, std::int64_t i) {
      return double{scales[static_cast<std::size_t>(i)]};
    };
    switch (signature_.quant) {
      case Quant::per_tensor: return at(a_scales_, 0) * at(b_scales_, 0);
      case Quant::rowwise: return at(a_scales_, row) * at(b_scales_, column);
      case Quant::blockscale:
        return at(a_scales_, k / 128 * m_ + row) * at(b_scales_, column / 128 * ((k_ + 127) / 128) + k / 128);
      default: return 1;
    }
  }

  Signature signature_;
  std::int64_t m_, n_, k_, ldc_;
  std::vector<std::uint16_t> a_, b_, c_;
  std::vector<int> a_values_, b_values_;
  std::vector<float> a_scales_, b_scales_;
};

inline constexpr Signature bf16{Op::gemm, DType::bf16, DType::bf16, DType::bf16, DType::fp32, DType::none};

constexpr Signature fp8(DType type, Quant quant) {
  return {Op::gemm, type, type, DType::bf16, DType::fp32, DType::fp32, Layout::rcr, quant};
}

/// The sentence that `text` has of what is not provided.
inline bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace provided
