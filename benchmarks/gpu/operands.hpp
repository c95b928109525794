// Operands of a GEMM on the host and on the device, and what its C must be.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <ckgen/ckgen.hpp>

#include "driver.hpp"
#include "number.hpp"

struct Shape {
  std::int64_t m, n, k, pad;  // of rows of C
};

/// Integers from -2 to 2, whose sums every accumulator holds, and powers of two as scales: C is exact but for its own
/// rounding. Or of a normal distribution, with any scales around 1.
enum class Data { integers, normal };

/// C lies between guard bands, with gaps between its rows.
class Operands {
 public:
  Operands(const ckgen::Signature& signature, const Shape& shape, Data data, std::mt19937& random)
      : signature_(signature), shape_(shape), data_(data), in_(Number::of(signature.a)), out_(Number::of(signature.c)) {
    a_ = drawn(count(shape.m, shape.k), random);
    b_ = drawn(count(shape.n, shape.k), random);
    draw_scales(random);
    device_a_ = uploaded(a_);
    device_b_ = uploaded(b_);
    device_scales_[0] = uploaded(a_scales_);
    device_scales_[1] = uploaded(b_scales_);
    room_ = 2 * kGuard + count(shape.m, ldc()) * 2;
    device_c_ = gpu::allocate(room_);
    compute(random);
  }
  ~Operands() {
    for (void* memory : {device_a_, device_b_, device_c_, device_scales_[0], device_scales_[1]})
      if (memory != nullptr) gpu::release(memory);
  }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  ckgen::GemmArgs args() const {
    ckgen::GemmArgs args{};
    args.a = device_a_;
    args.b = device_b_;
    args.c = static_cast<char*>(device_c_) + kGuard;
    args.a_scale = device_scales_[0];
    args.b_scale = device_scales_[1];
    args.m = shape_.m;
    args.n = shape_.n;
    args.k = args.lda = args.ldb = shape_.k;
    args.ldc = ldc();
    args.batch = 1;
    return args;
  }
  ckgen::Problem problem() const { return ckgen::Problem(signature_).shape(shape_.m, shape_.n, shape_.k); }
  void poison() { gpu::fill(device_c_, kPoison, room_); }

  /// What is wrong with C; empty where every element that was looked at is right, and no byte around it was written.
  std::string wrong() {
    std::vector<unsigned char> all(room_);
    gpu::to_host(all.data(), device_c_, room_);
    const auto* c = reinterpret_cast<const std::uint16_t*>(all.data() + kGuard);
    for (std::size_t i = 0; i < kGuard; ++i)
      if (all[i] != kPoison || all[room_ - 1 - i] != kPoison) return "guard band";
    for (std::int64_t row = 0; row < shape_.m; ++row)
      for (std::int64_t column = 0; column < ldc(); ++column) {
        const std::uint16_t got = c[row * ldc() + column];
        if ((got == 0xffff) != (column >= shape_.n))
          return column < shape_.n ? "an element was not written" : "a gap was";
      }
    for (const Sum& sum : sums_)
      if (const std::string found = differs(c, sum); !found.empty()) return found;
    return "";
  }
  double worst() const { return worst_; }

 private:
  static constexpr std::size_t kGuard = 4096;
  static constexpr unsigned char kPoison = 0xff;  // a NaN in every type
  static constexpr std::int64_t kBlock = 128;

  static std::size_t count(std::int64_t rows, std::int64_t columns) { return static_cast<std::size_t>(rows * columns); }
  static std::int64_t groups(std::int64_t extent) { return (extent + kBlock - 1) / kBlock; }
  std::int64_t ldc() const { return shape_.n + shape_.pad; }
  bool is_narrow() const { return in_.bytes() == 1; }

  std::vector<double> drawn(std::size_t size, std::mt19937& random) const {
    std::normal_distribution<double> normal;
    std::uniform_int_distribution<int> whole(-2, 2);
    std::vector<double> values(size);
    for (double& value : values) value = data_ == Data::integers ? whole(random) : in_.read(in_.write(normal(random)));
    return values;
  }
  void draw_scales(std::mt19937& random) {
    switch (signature_.quant) {
      case ckgen::Quant::per_tensor:
        a_scales_.resize(1);
        b_scales_.resize(1);
        break;
      case ckgen::Quant::rowwise:
        a_scales_.resize(count(shape_.m, 1));
        b_scales_.resize(count(shape_.n, 1));
        break;
      case ckgen::Quant::blockscale:
        a_scales_.resize(count(groups(shape_.k), shape_.m));  // [K/128][M]
        b_scales_.resize(count(groups(shape_.n), groups(shape_.k)));
        break;
      default: break;
    }
    std::uniform_real_distribution<float> near(0.5F, 1.5F);
    std::uniform_int_distribution<int> power(-1, 1);
    for (auto* scales : {&a_scales_, &b_scales_})
      for (float& scale : *scales) scale = data_ == Data::integers ? std::ldexp(1.0F, power(random)) : near(random);
  }
  void* uploaded(const std::vector<double>& values) const {
    const std::vector<unsigned char> bytes = in_.stored(values);
    void* memory = gpu::allocate(bytes.size());
    gpu::to_device(memory, bytes.data(), bytes.size());
    return memory;
  }
  static void* uploaded(const std::vector<float>& values) {
    if (values.empty()) return nullptr;
    void* memory = gpu::allocate(values.size() * sizeof(float));
    gpu::to_device(memory, values.data(), values.size() * sizeof(float));
    return memory;
  }

  /// An element of C in double, and what its products are in sum.
  struct Sum {
    std::int64_t row, column;
    double value, size;
  };

  double scale_of(std::int64_t row, std::int64_t column, std::int64_t k) const {
    switch (signature_.quant) {
      case ckgen::Quant::per_tensor: return double{a_scales_[0]} * b_scales_[0];
      case ckgen::Quant::rowwise: return double{a_scales_[count(row, 1)]} * b_scales_[count(column, 1)];
      case ckgen::Quant::blockscale:
        return double{a_scales_[count(k / kBlock, shape_.m) + count(row, 1)]} *
               b_scales_[count(column / kBlock, groups(shape_.k)) + count(k / kBlock, 1)];
      default: return 1;
    }
  }
  void add_sum(std::int64_t row, std::int64_t column) {
    Sum sum{row, column, 0, 0};
    for (std::int64_t from = 0; from < shape_.k; from += kBlock) {
      double value = 0, size = 0;
      for (std::int64_t k = from; k < std::min(from + kBlock, shape_.k); ++k) {
        const double product = a_[count(row, shape_.k) + count(k, 1)] * b_[count(column, shape_.k) + count(k, 1)];
        value += product;
        size += std::fabs(product);
      }
      const double scale = scale_of(row, column, from);
      sum.value += value * scale;
      sum.size += size * scale;
    }
    sums_.push_back(sum);
  }

  /// All elements of a small C; of a large one 2,000, a fifth of them on the last row or column.
  void compute(std::mt19937& random) {
    if (shape_.m * shape_.n * shape_.k <= 1 << 23) {
      for (std::int64_t row = 0; row < shape_.m; ++row)
        for (std::int64_t column = 0; column < shape_.n; ++column) add_sum(row, column);
      return;
    }
    std::uniform_int_distribution<std::int64_t> rows(0, shape_.m - 1), columns(0, shape_.n - 1);
    for (int i = 0; i < 2000; ++i)
      add_sum(i % 10 == 0 ? shape_.m - 1 : rows(random), i % 10 == 1 ? shape_.n - 1 : columns(random));
  }

  /// A unit in C's last place; beside it what sums lose: in fp32, and of 8-bit floats in the matrix unit, which keeps
  /// 13 bits behind the point of its largest addend. Integers and their scales lose nothing.
  double bound(const Sum& sum) const {
    const double last = std::ldexp(std::fabs(sum.value), -out_.fraction_bits - 1);
    if (data_ == Data::integers) return last;
    return last + sum.size * (is_narrow() ? std::ldexp(1, -11) : 1e-5) + 1e-30;
  }
  std::string differs(const std::uint16_t* c, const Sum& sum) {
    const double got = out_.read(c[sum.row * ldc() + sum.column]);
    const double most = bound(sum), error = std::fabs(got - sum.value);
    if (error > 0) worst_ = std::max(worst_, error / most);
    if (error <= most) return "";
    char text[128];
    std::snprintf(text, sizeof text, "C[%lld][%lld] is %g, not %g", static_cast<long long>(sum.row),
                  static_cast<long long>(sum.column), got, sum.value);
    return text;
  }

  ckgen::Signature signature_;
  Shape shape_;
  Data data_;
  Number in_, out_;
  std::vector<double> a_, b_;
  std::vector<float> a_scales_, b_scales_;
  void *device_a_ = nullptr, *device_b_ = nullptr, *device_c_ = nullptr, *device_scales_[2] = {};
  std::size_t room_ = 0;
  std::vector<Sum> sums_;
  double worst_ = 0;
};
