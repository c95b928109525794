// A whole GEMM, or a part of one, by the kernels of gemm/small_m.hpp.
#include "backends/host/gemm/fused.hpp"
#include "backends/host/gemm/pack_source.hpp"
#include "backends/host/gemm/part_scales.hpp"
#include "backends/host/gemm/small_m.hpp"
#include "backends/host/shares.hpp"
#include "backends/host/threads.hpp"
#include "ckgen/preshuffle.hpp"
#include "ckgen/scales.hpp"

#include <algorithm>
#include <cstring>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr double kSmallProblemFlops = 5e7;
constexpr std::int64_t kPrepareSerially = 1 << 14;  // elements of A
constexpr double kSerialBytes = 512 << 10;          // of B: one thread has read less before another has begun
constexpr double kCoreBytes = 1.5e6;                // of B, which stay in a core's caches from call to call
constexpr std::int64_t kSliceBytes = 256 << 10;     // of B, about what a thread takes at a time
// How much is computed while a byte of B comes: a thread reads 20 to 30 GB/s and computes some 100 GF/s.
constexpr double kFlopsPerByte = 4;

struct SmallGeometry {
  SmallPlan plan;
  Sizes size;
  std::int64_t slice;  // rows of B of an item
  double work;         // of the whole batch: floating-point operations, or the time of reading B in such
  bool ahead;          // whether B is read from memory
  int threads, instances;
  std::size_t slot_row, slot_scratch, slot_bytes, slots, problem_bytes, bytes;
};

// bytes is 0 where these kernels do not apply.
SmallGeometry small_geometry(const GemmTraits& traits, const Blocking& blocking, const Sizes& size) noexcept {
  SmallGeometry g{};
  if (size.m > kSmallRows) return g;
  g.plan = small_plan(traits, blocking, size.k);
  if (g.plan.kernels == nullptr) return g;
  g.size = size;
  const double b_elements = static_cast<double>(size.n) * static_cast<double>(size.k);
  const double flops = 2.0 * static_cast<double>(size.m) * b_elements;
  const double whole_flops = flops * static_cast<double>(size.batch);
  const double whole_bytes = b_elements * g.plan.kernels->b_bits / 8 * static_cast<double>(size.batch);
  g.work = std::max(whole_flops, kFlopsPerByte * whole_bytes);
  const bool is_serial = whole_flops < kSerialFlops && whole_bytes < kSerialBytes;
  const int threads = is_serial ? 1 : std::max(1, blocking.threads);
  const bool batch_parallel = threads > 1 && size.batch > 1 && flops < kSmallProblemFlops;
  g.threads = batch_parallel ? 1 : threads;
  g.ahead = whole_bytes > kCoreBytes * threads;
  g.instances = batch_parallel ? static_cast<int>(std::min<std::int64_t>(threads, size.batch)) : 1;
  const std::int64_t row = std::max<std::int64_t>(1, size.k * g.plan.kernels->b_bits / 8);
  g.slice = std::clamp<std::int64_t>(std::min(kSliceBytes / row, size.n / (4 * g.threads)), kSmallColumns, 256) /
            kSmallColumns * kSmallColumns;
  g.slot_row = aligned_64(static_cast<std::size_t>(size.m * g.slice) * 4);
  g.slot_scratch = g.slot_row + aligned_64(static_cast<std::size_t>(g.slice) * 4);
  g.slot_bytes = g.slot_scratch + small_scratch_bytes(g.plan);
  g.slots = small_panel_bytes(g.plan, size.m);
  g.problem_bytes = g.slots + g.slot_bytes * static_cast<std::size_t>(g.threads);
  g.bytes = g.problem_bytes * static_cast<std::size_t>(g.instances);
  return g;
}

// A product of the batch, or a part of one.
class SmallProblem {
 public:
  SmallProblem(const SmallGeometry& g, const GemmTraits& traits, const GemmArgs& args, std::int64_t batch,
               const Part& part, unsigned char* workspace) noexcept
      : g_(g), traits_(traits), args_(args), batch_(batch), part_(part), workspace_(workspace) {
    const auto* b = static_cast<const unsigned char*>(args.b) + bytes_of(traits.b, batch * args.batch_stride_b);
    operands_ = {workspace, g.size.m, b, bytes_of(traits.b, args.ldb), {}, g.ahead};
    if (by_group(g.plan)) operands_.b_scales = group_scales(args.b_scale, args.n, traits.scale_block.n, false);
  }

  void run() noexcept {
    prepare();
    const std::int64_t slices = ceil_div(g_.size.n, g_.slice);
    Shares shares(slices, g_.threads);
    parallel_for(
        slices, g_.threads,
        [this, &shares](std::int64_t i, int index) {
          // A thread whose caches keep its part of B takes the same part in every call.
          const std::int64_t own = g_.ahead ? i : shares.take(index);
          slice(own * g_.slice, workspace_ + g_.slots + g_.slot_bytes * static_cast<std::size_t>(index));
        },
        g_.work);
  }

 private:
  // The scales of this problem of the batch; those of a broadcast operand are there once.
  GroupScales group_scales(const void* base, std::int64_t rows, std::int64_t block, bool of_a) const noexcept {
    GroupScales s{nullptr, 0, 1, false, args_.mx_scale_shuffled};
    const bool has = of_a ? scales_a(traits_.quant, traits_.scale_block) : scales_b(traits_.quant, traits_.scale_block);
    if (!has) return s;
    const std::int64_t batch = (of_a ? args_.batch_stride_a : args_.batch_stride_b) == 0 ? 0 : batch_;
    const std::int64_t groups = g_.plan.groups;
    if (traits_.quant == Quant::mx) {
      const std::int64_t bytes = s.shuffled ? shuffled_mx_scale_bytes(rows, groups) : rows * groups;
      s.base = static_cast<const unsigned char*>(base) + batch * bytes;
    } else {
      s.block = block;
      s.group_major = of_a && !args_.a_scale_row_major;
      s.line = of_a ? a_scale_line(args_, groups) : groups;
      s.base = static_cast<const float*>(base) + batch * ceil_div(rows, block) * groups;
    }
    return s;
  }

  void prepare() const noexcept {
    const auto* base = static_cast<const unsigned char*>(args_.a) + bytes_of(traits_.a, batch_ * args_.batch_stride_a);
    PackSource a = make_pack_source(traits_.a == DType::int8 ? PackKind::i16 : PackKind::f32, traits_.a, base,
                                    args_.lda, a_is_row_major(traits_.layout), false);
    a.rows = part_.rows;
    GroupScales scales{};
    if (by_group(g_.plan)) scales = group_scales(args_.a_scale, args_.m, 1, true);
    const int threads = g_.size.m * g_.size.k < kPrepareSerially ? 1 : g_.threads;
    parallel_for(
        g_.size.m, threads,
        [&](std::int64_t r, int) { small_prepare(g_.plan, a, scales, part_.m0 + r, r, workspace_); }, g_.work);
  }

  void slice(std::int64_t n0, unsigned char* slot) const noexcept {
    const std::int64_t count = std::min(g_.slice, g_.size.n - n0);
    small_rows(g_.plan, operands_, part_.n0 + n0, count, slot, g_.slice, slot + g_.slot_scratch);
    for (std::int64_t r = 0; r < g_.size.m; ++r) {
      const unsigned char* acc = slot + r * g_.slice * 4;
      unsigned char* out = static_cast<unsigned char*>(part_.c) + bytes_of(traits_.c, r * args_.ldc + n0);
      if (traits_.c == DType::int32) {
        std::memcpy(out, acc, static_cast<std::size_t>(count) * 4);
        continue;
      }
      auto* row = reinterpret_cast<float*>(slot + g_.slot_row);
      finish_row(part_.m0 + r, part_.n0 + n0, count, acc, row);
      g_.plan.isa->encode(traits_.c, row, out, count);
    }
  }

  void finish_row(std::int64_t r, std::int64_t n0, std::int64_t count, const void* acc, float* out) const noexcept {
    FinishArgs f{acc, traits_.a == DType::int8, count, 1.0F, 1.0F, nullptr, nullptr};
    const auto* a_scale = static_cast<const float*>(args_.a_scale);
    const auto* b_scale = static_cast<const float*>(args_.b_scale);
    if (traits_.quant == Quant::per_tensor) {
      f.a_scale = a_scale[0];
      f.b_scalar = b_scale[0];
    } else if (traits_.quant == Quant::rowwise) {
      const std::int64_t row = part_.rows == nullptr ? r : part_.rows[r];
      f.a_scale = a_scale[(args_.batch_stride_a == 0 ? 0 : batch_ * args_.m) + row];
      f.b_scale = b_scale + (args_.batch_stride_b == 0 ? 0 : batch_ * args_.n) + n0;
    }
    if (traits_.bias) f.bias = static_cast<const float*>(args_.bias) + n0;
    g_.plan.isa->finish(f, out);
    apply_epilogue(*g_.plan.isa, traits_, args_, batch_, r, n0, count, out);
  }

  const SmallGeometry& g_;
  const GemmTraits& traits_;
  const GemmArgs& args_;
  const std::int64_t batch_;
  const Part part_;
  unsigned char* const workspace_;
  SmallOperands operands_{};
};

}  // namespace

std::size_t small_m_workspace(const GemmTraits& traits, const Blocking& blocking, const Sizes& sizes) noexcept {
  return small_geometry(traits, blocking, sizes).bytes;
}

namespace {

// Whether there are kernels for this, and rows of B start on whole bytes.
bool applies(const SmallGeometry& g, const GemmTraits& traits, const GemmArgs& args) noexcept {
  return g.bytes != 0 && args.ldb * bits(traits.b) % 8 == 0;
}

}  // namespace

bool execute_small_m(const GemmTraits& traits, const Blocking& blocking, const GemmArgs& args,
                     void* workspace) noexcept {
  const SmallGeometry g = small_geometry(traits, blocking, {args.m, args.n, args.k, args.batch});
  if (!applies(g, traits, args)) return false;
  auto* base = static_cast<unsigned char*>(workspace);
  parallel_for(
      args.batch, g.instances,
      [&](std::int64_t i, int index) {
        auto* c = static_cast<unsigned char*>(args.c) + bytes_of(traits.c, i * args.batch_stride_c);
        SmallProblem(g, traits, args, i, {0, 0, c, nullptr}, base + g.problem_bytes * static_cast<std::size_t>(index))
            .run();
      },
      g.work);
  return true;
}

bool execute_small_part(const GemmTraits& traits, const Blocking& blocking, const Sizes& sizes, const GemmArgs& args,
                        const Part& part, void* workspace) noexcept {
  SmallGeometry g = small_geometry(traits, blocking, sizes);
  if (!applies(g, traits, args)) return false;
  g.ahead = true;  // other parts had the caches since
  SmallProblem(g, traits, args, 0, part, static_cast<unsigned char*>(workspace)).run();
  return true;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
