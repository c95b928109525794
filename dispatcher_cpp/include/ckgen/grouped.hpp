// Many independent GEMMs of one signature in one launch: their sizes, and what is passed to run them.
#pragma once

#include <ckgen/export.h>
#include <cstdint>

#include <ckgen/epilogue.hpp>

namespace ckgen {
inline namespace v1 {

/// One group's sizes in elements, each at least 0. A group without rows or columns does nothing; one without K writes
/// the epilogue of zero.
struct GroupSize {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;

  friend constexpr bool operator==(const GroupSize& x, const GroupSize& y) noexcept {
    return x.m == y.m && x.n == y.n && x.k == y.k;
  }
  friend constexpr bool operator!=(const GroupSize& x, const GroupSize& y) noexcept { return !(x == y); }
};

/// The sizes of all groups, and what a selection asks of them in numbers. Made once, then shared by any number of
/// Problems, which point at it: it must outlive them and their plans. Never throws or allocates; immutable, so
/// thread-safe.
class CKGEN_API Groups {
 public:
  /// Sizes that the host knows. Points at `sizes`, which must live as long.
  Groups(const GroupSize* sizes, std::int64_t count) noexcept;

  /// Sizes that only the device knows when the kernel runs: at most `m_max` rows per group, N and K the same in all.
  static Groups on_device(std::int64_t count, std::int64_t m_max, std::int64_t n, std::int64_t k) noexcept;

  const GroupSize* sizes() const noexcept { return sizes_; }  // null: on the device
  bool are_on_device() const noexcept { return sizes_ == nullptr; }
  std::int64_t count() const noexcept { return count_; }
  std::int64_t busy() const noexcept { return busy_; }  // groups with rows and columns
  /// Over the groups with rows and columns; 0 where there are none.
  const GroupSize& largest() const noexcept { return largest_; }
  const GroupSize& smallest() const noexcept { return smallest_; }
  /// The greatest common divisors of the sizes above 0: a multiple that divides them divides each size. M of groups on
  /// the device is not known: 1.
  const GroupSize& divisor() const noexcept { return divisor_; }
  std::int64_t rows() const noexcept { return rows_; }  // M of all groups; on the device the most that they can be
  /// The largest products m * k, n * k and m * n of a group, saturated.
  std::int64_t largest_a() const noexcept { return largest_a_; }
  std::int64_t largest_b() const noexcept { return largest_b_; }
  std::int64_t largest_c() const noexcept { return largest_c_; }
  /// false: a size is negative, or a sum or product is beyond 64 bits. No plan is made of such groups.
  bool is_valid() const noexcept { return valid_; }
  /// Tiles of tile_m x tile_n that cover C of all groups; on the device the most that there can be.
  std::int64_t tiles(std::int64_t tile_m, std::int64_t tile_n) const noexcept;
  /// A hash of all sizes in their order, and of whether they are on the device.
  std::uint64_t digest() const noexcept { return digest_; }

 private:
  Groups() noexcept = default;
  void count_in(const GroupSize& size) noexcept;

  const GroupSize* sizes_ = nullptr;
  std::int64_t count_ = 0;
  std::int64_t busy_ = 0;
  std::int64_t rows_ = 0;
  GroupSize largest_{};
  GroupSize smallest_{};
  GroupSize divisor_{};
  std::int64_t largest_a_ = 0;
  std::int64_t largest_b_ = 0;
  std::int64_t largest_c_ = 0;
  bool valid_ = true;
  std::uint64_t digest_ = 0;
};

/// One group's operands, as GemmArgs has them for one GEMM: the same layouts, scales and epilogue. Leading dimensions
/// count elements.
struct GroupOperands {
  const void* a;
  const void* b;
  void* c;
  const void* a_scale;
  const void* b_scale;
  const void* bias;
  const void* d[kMaxD];
  std::int64_t lda;
  std::int64_t ldb;
  std::int64_t ldc;
  std::int64_t ldd[kMaxD];
};

/// What a caller passes to run a plan of groups. For sizes on the device both arrays are device memory that the kernel
/// reads when it runs; else both are host memory, read before run() returns.
struct GroupedArgs {
  const GroupOperands* operands;  // `count` of them
  const GroupSize* sizes;         // those of the plan's Groups; on the device the real ones
  std::int64_t count;
  bool a_scale_row_major;  // as in GemmArgs, for every group
  bool mx_scale_shuffled;
  float alpha;
  // blockscale only: floats from one line of a_scale to the next, in every group: of [M][ceil(K/k)] from row to row, of
  // [ceil(K/k)][M] from k to k. 0: no gaps. So groups can share one matrix of the scales of all their rows.
  std::int64_t a_scale_stride = 0;
};
constexpr Op op_of(const GroupedArgs&) noexcept {
  return Op::grouped_gemm;
}

/// Stages of plans beside kernels. upload: the table of groups, where kernels read it.
enum class GroupedStage : std::uint8_t { upload };

}  // namespace v1
}  // namespace ckgen
