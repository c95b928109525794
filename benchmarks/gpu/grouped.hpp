// Groups of operands, and the arrays that say where they are.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "modes.hpp"
#include "operands.hpp"

/// Where scales of blocks of A lie: [K/128][M] of each group; both ways as one matrix of the rows of all groups.
enum class ScalesOfAll { apart, columns, rows };

/// Groups of operands, and the arrays that say where they are, on the host or on the device.
class Grouped {
 public:
  Grouped(const ckgen::Signature& signature, const std::vector<ckgen::GroupSize>& sizes, bool is_on_device,
          ScalesOfAll scales, Data data, std::mt19937& random)
      : signature_(signature), sizes_(sizes), is_on_device_(is_on_device), scales_(scales) {
    for (const ckgen::GroupSize& size : sizes) {
      ckgen::GroupOperands of{};
      operands_.push_back(nullptr);
      if (size.m != 0) {
        const auto number = static_cast<std::int64_t>(operands_.size());
        Shape shape{size.m, size.n, size.k, 8 * (number % 2)};
        shape.ahead_of_a_scale = number % 4;
        operands_.back() = std::make_unique<Operands>(alone(signature), shape, data, random);
        const ckgen::GemmArgs args = operands_.back()->args();
        of.a = args.a;
        of.b = args.b;
        of.c = args.c;
        of.a_scale = args.a_scale;
        of.b_scale = args.b_scale;
        of.bias = args.bias;
        of.lda = args.lda;
        of.ldb = args.ldb;
        of.ldc = args.ldc;
        std::copy_n(args.d, ckgen::kMaxD, of.d);
        std::copy_n(args.ldd, ckgen::kMaxD, of.ldd);
      }
      described_.push_back(of);
    }
    if (scales != ScalesOfAll::apart) share_scales();
    std::int64_t most = 1;
    for (const ckgen::GroupSize& size : sizes) most = std::max(most, size.m);
    const auto count = static_cast<std::int64_t>(sizes.size());
    groups_.emplace(is_on_device ? ckgen::Groups::on_device(count, most + 3, sizes[0].n, sizes[0].k)
                                 : ckgen::Groups(sizes_.data(), count));
    if (!is_on_device) return;
    device_operands_ = copied(described_);
    device_sizes_ = copied(sizes_);
  }
  ~Grouped() {
    for (void* memory : {device_operands_, device_sizes_, device_scales_})
      if (memory != nullptr) gpu::release(memory);
  }
  Grouped(const Grouped&) = delete;
  Grouped& operator=(const Grouped&) = delete;

  ckgen::Problem problem() const { return ckgen::Problem(signature_).groups(*groups_); }
  ckgen::GroupedArgs args() const {
    ckgen::GroupedArgs args{};
    args.operands = is_on_device_ ? static_cast<const ckgen::GroupOperands*>(device_operands_) : described_.data();
    args.sizes = is_on_device_ ? static_cast<const ckgen::GroupSize*>(device_sizes_) : sizes_.data();
    args.count = static_cast<std::int64_t>(sizes_.size());
    args.alpha = Operands::kAlpha;
    args.a_scale_row_major = scales_ == ScalesOfAll::rows;
    args.a_scale_stride = scale_stride_;
    return args;
  }
  void poison() {
    for (const auto& one : operands_)
      if (one) one->poison();
  }
  /// C of every group that has rows.
  std::vector<Memory> results() const {
    std::vector<Memory> all;
    for (const auto& one : operands_)
      if (one) all.push_back(one->results().front());
    return all;
  }
  std::string wrong() {
    for (std::size_t i = 0; i < operands_.size(); ++i)
      if (operands_[i])
        if (const std::string found = operands_[i]->wrong(); !found.empty())
          return "group " + std::to_string(i) + ": " + found;
    return "";
  }
  double worst() const {
    double worst = 0;
    for (const auto& one : operands_) worst = std::max(worst, one ? one->worst() : 0);
    return worst;
  }

 private:
  /// What is no group's is NaN.
  void share_scales() {
    const bool in_rows = scales_ == ScalesOfAll::rows;
    std::int64_t rows = 0, most = 0;
    for (const ckgen::GroupSize& size : sizes_) {
      rows += size.m;
      most = std::max(most, blocks(size));
    }
    scale_stride_ = (in_rows ? most : rows) + 3;
    std::vector<float> all(static_cast<std::size_t>(scale_stride_ * (in_rows ? rows : most)),
                           std::numeric_limits<float>::quiet_NaN());
    std::vector<std::int64_t> places(sizes_.size());
    for (std::int64_t i = 0, first = 0; i < static_cast<std::int64_t>(sizes_.size()); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const ckgen::GroupSize& size = sizes_[at];
      places[at] = in_rows ? first * scale_stride_ : first;
      if (size.m == 0) continue;
      const std::vector<float>& own = operands_[at]->a_scales();  // [K/128][M]
      for (std::int64_t block = 0; block < blocks(size); ++block)
        for (std::int64_t row = 0; row < size.m; ++row)
          all[static_cast<std::size_t>(places[at] +
                                       (in_rows ? row * scale_stride_ + block : block * scale_stride_ + row))] =
              own[static_cast<std::size_t>(block * size.m + row)];
      first += size.m;
    }
    device_scales_ = copied(all);
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      if (sizes_[i].m != 0) described_[i].a_scale = static_cast<const float*>(device_scales_) + places[i];
  }
  static std::int64_t blocks(const ckgen::GroupSize& size) { return (size.k + 127) / 128; }

  template <class T>
  static void* copied(const std::vector<T>& values) {
    void* memory = gpu::allocate(values.size() * sizeof(T));
    gpu::to_device(memory, values.data(), values.size() * sizeof(T));
    return memory;
  }

  ckgen::Signature signature_;
  std::vector<ckgen::GroupSize> sizes_;
  bool is_on_device_;
  ScalesOfAll scales_;
  std::int64_t scale_stride_ = 0;
  std::vector<std::unique_ptr<Operands>> operands_;
  std::vector<ckgen::GroupOperands> described_;
  std::optional<ckgen::Groups> groups_;
  void *device_operands_ = nullptr, *device_sizes_ = nullptr, *device_scales_ = nullptr;
};
