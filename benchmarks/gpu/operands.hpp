// Operands of a GEMM, or of a batch of them, on the host and on the device, and what its C must be.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <ckgen/ckgen.hpp>

#include "driver.hpp"
#include "modes.hpp"
#include "near.hpp"
#include "number.hpp"

/// Which operand all of a batch share.
enum class Shared { none, a, b };

/// `pad`: elements behind each row and each matrix of C; without them D tensors have one row for all.
/// `ahead_of_a_scale`: floats that A's scales stand behind.
struct Shape {
  std::int64_t m, n, k, pad;
  std::int64_t batch = 1;
  Shared shared = Shared::none;
  std::int64_t ahead_of_a_scale = 0;
};

struct Memory {
  void* at;
  std::size_t bytes;
};

/// Integers from -2 to 2, whose sums every accumulator holds, and powers of two as scales: C is exact but for its own
/// rounding, and that of ops that are. Or of a normal distribution, with any scales around 1.
enum class Data { integers, normal };

/// C lies between guard bands, with gaps between its rows and its matrices.
class Operands {
 public:
  static constexpr float kAlpha = 0.5F;

  Operands(const ckgen::Signature& signature, const Shape& shape, Data data, std::mt19937& random)
      : signature_(signature), shape_(shape), data_(data), in_(Number::of(signature.a)), out_(Number::of(signature.c)) {
    a_ = drawn(in_, count(copies(Shared::a) * shape.m, shape.k), random);
    b_ = drawn(in_, count(copies(Shared::b) * shape.n, shape.k), random);
    draw_scales(random);
    draw_store(random);
    device_a_ = uploaded(in_, a_is_row_major(signature.layout) ? a_ : lines_across_k(a_, shape.m, shape.k));
    device_b_ = uploaded(in_, b_is_row_major(signature.layout) ? lines_across_k(b_, shape.n, shape.k) : b_);
    std::vector<float> of_a(count(a_scales_.empty() ? 0 : shape.ahead_of_a_scale, 1), 0);
    of_a.insert(of_a.end(), a_scales_.begin(), a_scales_.end());
    device_scales_[0] = uploaded(of_a);
    device_scales_[1] = uploaded(b_scales_);
    device_bias_ = uploaded(bias_);
    for (int i = 0; i < signature.epilogue.d_count(); ++i) device_d_[i] = uploaded(out_, d_[i]);
    room_ = 2 * kGuard + count(shape.batch, stride_c()) * size_c();
    device_c_ = gpu::allocate(room_);
    compute(random);
  }
  ~Operands() {
    for (void* memory : {device_a_, device_b_, device_c_, device_scales_[0], device_scales_[1], device_bias_,
                         device_d_[0], device_d_[1]})
      if (memory != nullptr) gpu::release(memory);
  }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  ckgen::GemmArgs args() const {
    ckgen::GemmArgs args = dense(signature_.layout, shape_.m, shape_.n, shape_.k);
    args.a = device_a_;
    args.b = device_b_;
    args.c = static_cast<char*>(device_c_) + kGuard;
    if (!a_scales_.empty()) args.a_scale = static_cast<const float*>(device_scales_[0]) + shape_.ahead_of_a_scale;
    args.b_scale = device_scales_[1];
    args.bias = device_bias_;
    args.ldc = ldc();
    args.batch = shape_.batch;
    args.batch_stride_a = shape_.shared == Shared::a ? 0 : shape_.m * shape_.k;
    args.batch_stride_b = shape_.shared == Shared::b ? 0 : shape_.n * shape_.k;
    args.batch_stride_c = stride_c();
    args.alpha = kAlpha;
    for (int i = 0; i < signature_.epilogue.d_count(); ++i) {
      args.d[i] = device_d_[i];
      args.ldd[i] = has_rows_of_d() ? shape_.n : 0;
      args.batch_stride_d[i] = has_rows_of_d() ? shape_.m * shape_.n : 0;
    }
    return args;
  }
  ckgen::Problem problem() const {
    ckgen::Problem problem = ckgen::Problem(signature_).shape(shape_.m, shape_.n, shape_.k);
    return signature_.batched ? problem.batch(shape_.batch) : problem;
  }
  const Shape& shape() const { return shape_; }
  const std::vector<float>& a_scales() const { return a_scales_; }
  void poison() { gpu::fill(device_c_, poison_byte(), room_); }
  /// All of C, from its first element on.
  std::vector<Memory> results() const { return {{static_cast<char*>(device_c_) + kGuard, room_ - 2 * kGuard}}; }

  /// What is wrong with C; empty where every element that was looked at is right, and no byte around it was written.
  std::string wrong() {
    std::vector<unsigned char> all(room_);
    gpu::to_host(all.data(), device_c_, room_);
    const unsigned char* const c = all.data() + kGuard;
    for (std::size_t i = 0; i < kGuard; ++i)
      if (all[i] != poison_byte() || all[room_ - 1 - i] != poison_byte()) return "guard band";
    for (std::int64_t at = 0; at < shape_.batch * stride_c(); ++at) {
      const std::int64_t within = at % stride_c();
      const bool is_gap = within >= shape_.m * ldc() || within % ldc() >= shape_.n;
      if (is_poison(c, at) != is_gap) return is_gap ? "a gap was written" : "an element was not written";
    }
    for (const Sum& sum : sums_)
      if (const std::string found = differs(c, sum); !found.empty()) return found;
    return "";
  }
  double worst() const { return worst_; }

 private:
  static constexpr std::size_t kGuard = 4096;
  static constexpr std::int64_t kBlock = 128;

  static std::size_t count(std::int64_t rows, std::int64_t columns) { return static_cast<std::size_t>(rows * columns); }
  static std::int64_t groups(std::int64_t extent) { return (extent + kBlock - 1) / kBlock; }
  /// Its elements are NaNs, or an integer that is far from every sum.
  unsigned char poison_byte() const { return out_.is_integer() ? 0x80 : 0xff; }
  std::size_t size_c() const { return static_cast<std::size_t>(out_.bytes()); }
  unsigned bits_of(const unsigned char* c, std::int64_t at) const {
    unsigned bits = 0;
    std::memcpy(&bits, c + static_cast<std::size_t>(at) * size_c(), size_c());
    return bits;
  }
  bool is_poison(const unsigned char* c, std::int64_t at) const {
    const unsigned char* const element = c + static_cast<std::size_t>(at) * size_c();
    return std::all_of(element, element + size_c(), [&](unsigned char byte) { return byte == poison_byte(); });
  }
  std::int64_t ldc() const { return shape_.n + shape_.pad; }
  std::int64_t stride_c() const { return shape_.m * ldc() + (shape_.batch > 1 ? shape_.pad : 0); }
  std::int64_t copies(Shared operand) const { return shape_.shared == operand ? 1 : shape_.batch; }
  bool has_rows_of_d() const { return shape_.pad != 0; }
  bool is_narrow() const { return in_.bytes() == 1; }

  /// Of int8, whose sums would go beyond what fp16 holds, a quarter of it.
  double deviation(const Number& type) const {
    return type.is_integer() && signature_.c == ckgen::DType::fp16 ? type.deviation() / 4 : type.deviation();
  }
  std::vector<double> drawn(const Number& type, std::size_t size, std::mt19937& random) const {
    std::normal_distribution<double> normal(0, deviation(type));
    std::uniform_int_distribution<int> whole(-2, 2);
    std::vector<double> values(size);
    for (double& value : values)
      value = data_ == Data::integers ? whole(random) : type.read(type.write(normal(random)));
    return values;
  }
  void draw_scales(std::mt19937& random) {
    const std::int64_t of_a = copies(Shared::a), of_b = copies(Shared::b);
    switch (signature_.quant) {
      case ckgen::Quant::per_tensor:
        a_scales_.resize(1);
        b_scales_.resize(1);
        break;
      case ckgen::Quant::rowwise:
        a_scales_.resize(count(of_a, shape_.m));
        b_scales_.resize(count(of_b, shape_.n));
        break;
      case ckgen::Quant::blockscale:
        a_scales_.resize(count(of_a * groups(shape_.k), shape_.m));  // [K/128][M]
        b_scales_.resize(count(of_b * groups(shape_.n), groups(shape_.k)));
        break;
      default: break;
    }
    std::uniform_real_distribution<float> near(0.5F, 1.5F);
    std::uniform_int_distribution<int> power(-1, 1);
    for (auto* scales : {&a_scales_, &b_scales_})
      for (float& scale : *scales) scale = data_ == Data::integers ? std::ldexp(1.0F, power(random)) : near(random);
  }
  /// What is added to and multiplied with sums.
  void draw_store(std::mt19937& random) {
    std::uniform_int_distribution<int> whole(-8, 8);
    std::normal_distribution<float> normal;
    if (signature_.bias) bias_.resize(count(shape_.n, 1));
    for (float& one : bias_) one = data_ == Data::integers ? static_cast<float>(whole(random)) : normal(random);
    const std::int64_t rows = has_rows_of_d() ? shape_.batch * shape_.m : 1;
    for (int i = 0; i < signature_.epilogue.d_count(); ++i) d_[i] = drawn(out_, count(rows, shape_.n), random);
  }
  /// Matrices of rows along K as their lines lie across it.
  static std::vector<double> lines_across_k(const std::vector<double>& rows, std::int64_t height, std::int64_t k) {
    const std::size_t matrix = count(height, k);
    std::vector<double> lines(rows.size());
    for (std::size_t at = 0; at < rows.size(); ++at) {
      const auto within = static_cast<std::int64_t>(at % matrix);
      lines[at - at % matrix + count(within % k, height) + count(within / k, 1)] = rows[at];
    }
    return lines;
  }
  static void* uploaded(const Number& type, const std::vector<double>& values) {
    const std::vector<unsigned char> bytes = type.stored(values);
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

  /// An element of C in double.
  struct Sum {
    std::int64_t batch, row, column;
    Near near;
  };

  double scale_of(const Sum& at, std::int64_t k) const {
    const std::int64_t of_a = shape_.shared == Shared::a ? 0 : at.batch,
                       of_b = shape_.shared == Shared::b ? 0 : at.batch;
    switch (signature_.quant) {
      case ckgen::Quant::per_tensor: return double{a_scales_[0]} * b_scales_[0];
      case ckgen::Quant::rowwise:
        return double{a_scales_[count(of_a, shape_.m) + count(at.row, 1)]} *
               b_scales_[count(of_b, shape_.n) + count(at.column, 1)];
      case ckgen::Quant::blockscale: {
        const std::int64_t deep = groups(shape_.k), wide = groups(shape_.n);
        return double{a_scales_[count(of_a * deep + k / kBlock, shape_.m) + count(at.row, 1)]} *
               b_scales_[count(of_b * wide + at.column / kBlock, deep) + count(k / kBlock, 1)];
      }
      default: return 1;
    }
  }
  void add_sum(std::int64_t batch, std::int64_t row, std::int64_t column) {
    Sum sum{batch, row, column, {0, 0}};
    const std::int64_t of_a = (shape_.shared == Shared::a ? 0 : batch * shape_.m) + row;
    const std::int64_t of_b = (shape_.shared == Shared::b ? 0 : batch * shape_.n) + column;
    double total = 0;
    for (std::int64_t from = 0; from < shape_.k; from += kBlock) {
      double value = 0, size = 0;
      for (std::int64_t k = from; k < std::min(from + kBlock, shape_.k); ++k) {
        const double product = a_[count(of_a, shape_.k) + count(k, 1)] * b_[count(of_b, shape_.k) + count(k, 1)];
        value += product;
        size += std::fabs(product);
      }
      const double scale = scale_of(sum, from);
      sum.near.value += value * scale;
      total += size * scale;
    }
    sum.near.error = data_ == Data::integers ? 0 : lost(total);
    finish(sum);
    sums_.push_back(sum);
  }
  /// Of sums whose products' sizes come to so much: in fp32, and of 8-bit floats in the matrix unit, which keeps 13
  /// bits behind the point of its largest addend. Sums of int8 lose nothing before they are fp32 and scaled.
  double lost(double size) const {
    if (out_.is_integer()) return 0;
    if (in_.is_integer()) return size * std::ldexp(1, -22);
    return size * (is_narrow() ? std::ldexp(1, -11) : 1e-5) + 1e-30;
  }

  void finish(Sum& sum) const {
    if (signature_.bias) sum.near = plus(sum.near, bias_[count(sum.column, 1)]);
    int next = 0;
    for (const ckgen::EpilogueOp op : signature_.epilogue.ops) {
      double factor = kAlpha;
      if (takes_d(op)) {
        const std::int64_t row = has_rows_of_d() ? sum.batch * shape_.m + sum.row : 0;
        factor = d_[next++][count(row, shape_.n) + count(sum.column, 1)];
      }
      sum.near = after(op, sum.near, factor);
    }
  }

  /// All elements of a small C; of a large one 2,000, a fifth of them on the last row or column.
  void compute(std::mt19937& random) {
    if (shape_.batch * shape_.m * shape_.n * shape_.k <= 1 << 23) {
      for (std::int64_t batch = 0; batch < shape_.batch; ++batch)
        for (std::int64_t row = 0; row < shape_.m; ++row)
          for (std::int64_t column = 0; column < shape_.n; ++column) add_sum(batch, row, column);
      return;
    }
    std::uniform_int_distribution<std::int64_t> rows(0, shape_.m - 1), columns(0, shape_.n - 1);
    std::uniform_int_distribution<std::int64_t> batches(0, shape_.batch - 1);
    for (int i = 0; i < 2000; ++i)
      add_sum(batches(random), i % 10 == 0 ? shape_.m - 1 : rows(random), i % 10 == 1 ? shape_.n - 1 : columns(random));
  }

  /// Within a unit in C's last place, beside what came before it.
  std::string differs(const unsigned char* c, const Sum& sum) {
    const double got = out_.read(bits_of(c, sum.batch * stride_c() + sum.row * ldc() + sum.column));
    const double most = out_.half_unit(sum.near.value) + sum.near.error;
    const double error = std::fabs(got - sum.near.value);
    if (error > 0) worst_ = std::max(worst_, error / most);
    if (error <= most) return "";
    char text[128];
    std::snprintf(text, sizeof text, "C[%lld][%lld][%lld] is %g, not %g", static_cast<long long>(sum.batch),
                  static_cast<long long>(sum.row), static_cast<long long>(sum.column), got, sum.near.value);
    return text;
  }

  ckgen::Signature signature_;
  Shape shape_;
  Data data_;
  Number in_, out_;
  std::vector<double> a_, b_, d_[ckgen::kMaxD];
  std::vector<float> a_scales_, b_scales_, bias_;
  void *device_a_ = nullptr, *device_b_ = nullptr, *device_c_ = nullptr, *device_scales_[2] = {};
  void *device_bias_ = nullptr, *device_d_[ckgen::kMaxD] = {};
  std::size_t room_ = 0;
  std::vector<Sum> sums_;
  double worst_ = 0;
};
