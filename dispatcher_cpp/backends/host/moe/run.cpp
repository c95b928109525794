#include "backends/host/moe/run.hpp"

#include "backends/host/gemm/small_m.hpp"
#include "backends/host/moe/quantize.hpp"
#include "backends/host/moe/rows.hpp"
#include "backends/host/threads.hpp"
#include "ckgen/preshuffle.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// An item is this wide where there are threads enough: a row of A is packed once per item.
constexpr std::int64_t kColumns = 256;
constexpr std::int64_t kLeastItemColumns = 64;
constexpr std::int64_t kItemsPerThread = 4;
constexpr std::int64_t kPartRows = 1024;
// What the rows of an item of down take, of all experts.
constexpr std::int64_t kResultBytes = std::int64_t{64} << 20;

// Columns of an item: whole register tiles, so many that `rows` fp32 rows of them stay below kResultBytes.
std::int64_t item_columns(std::int64_t n, std::int64_t items, std::int64_t rows, std::int64_t nr) noexcept {
  std::int64_t columns = std::max(kLeastItemColumns, std::min(kColumns, ceil_div(n, items)));
  columns = std::min(columns, kResultBytes / 4 / rows);
  return std::min(std::max<std::int64_t>(1, columns / nr) * nr, std::max<std::int64_t>(n, 1));
}

std::size_t weight_scale_bytes(const GemmTraits& t, const ExpertWeights& w, bool shuffled) noexcept {
  switch (t.quant) {
    case Quant::per_tensor: return 4;
    case Quant::rowwise: return static_cast<std::size_t>(w.rows) * 4;
    case Quant::blockscale:
      return static_cast<std::size_t>(ceil_div(w.rows, t.scale_block.n) * ceil_div(w.k, t.scale_block.k)) * 4;
    case Quant::mx: {
      const std::int64_t groups = ceil_div(w.k, 32);
      return static_cast<std::size_t>(shuffled ? shuffled_mx_scale_bytes(w.rows, groups) : w.rows * groups);
    }
    default: return 0;
  }
}

const void* after(const void* base, std::size_t bytes) noexcept {
  return base == nullptr ? nullptr : static_cast<const unsigned char*>(base) + bytes;
}

class MoeLayer {
 public:
  MoeLayer(const Cutting& cutting, const MoePlan& plan, const MoeArgs& args, void* workspace) noexcept
      : cutting_(cutting),
        plan_(plan),
        args_(args),
        workspace_(static_cast<unsigned char*>(workspace)),
        isa_(*cutting.blocking(plan.shape.k).isa),
        lists_(expert_rows_in(workspace, plan.shape.tokens, plan.shape.routing)) {}

  bool list() const noexcept {
    if (plan_.moe.part == MoePart::layer && args_.topk_ids != nullptr)
      return list_rows(args_.topk_ids, args_.topk_weights, lists_);
    return list_rows(args_.sorted, plan_.shape.tokens, plan_.shape.routing, plan_.shape.block_m, lists_);
  }

  void run() const noexcept {
    const MoePart part = plan_.moe.part;
    if (part == MoePart::gate_up) return gate_up(static_cast<unsigned char*>(args_.c), args_.ldc, lists_.row);
    MoeArgs hidden = args_;
    if (part == MoePart::layer) {
      gate_up(workspace_ + plan_.h_offset, plan_.hidden, nullptr);
      hidden.a = workspace_ + plan_.h_offset;
      hidden.lda = plan_.hidden;
      hidden.a_scale = nullptr;
      if (quantizes(cutting_.traits())) quantize_hidden(hidden);
    }
    down(hidden, part == MoePart::layer ? nullptr : lists_.row);
  }

 private:
  unsigned char* slot(int index) const noexcept {
    return workspace_ + plan_.slots_offset + plan_.slot_bytes * static_cast<std::size_t>(index);
  }

  // H of the places in order of experts; place p becomes row to[p] of `h`, or row p.
  void gate_up(unsigned char* h, std::int64_t ldh, const std::int32_t* to) const noexcept {
    const std::int64_t across = ceil_div(plan_.hidden, plan_.up_columns);
    const std::int64_t items = across * blocks();
    parallel_for(items, plan_.threads, [&](std::int64_t i, int index) {
      Block block = block_at(i / across);
      block.n0 = i % across * plan_.up_columns;
      block.columns = std::min(plan_.up_columns, plan_.hidden - block.n0);
      gate_up_block(block, h, ldh, to, slot(index));
    });
  }

  struct Block {
    std::int32_t expert;
    std::int64_t place, rows;  // the first place, and how many
    std::int64_t n0, columns;
  };

  std::int64_t blocks_of(std::int32_t expert) const noexcept {
    return ceil_div(lists_.rows_of(expert), plan_.part_rows);
  }
  std::int64_t blocks() const noexcept {
    std::int64_t all = 0;
    for (std::int32_t e = 0; e < lists_.experts; ++e) all += blocks_of(e);
    return all;
  }
  Block block_at(std::int64_t index) const noexcept {
    Block block{};
    while (index >= blocks_of(block.expert)) index -= blocks_of(block.expert++);
    block.place = lists_.first[block.expert] + index * plan_.part_rows;
    block.rows = std::min(plan_.part_rows, lists_.first[block.expert + 1] - block.place);
    return block;
  }

  // Rows that the kernels of gemm/small_m.hpp compute faster than packed operands: 16-bit weights need no decoding, so
  // that two panels of A are no loss.
  std::int64_t few_rows(const Blocking& blocking, std::int64_t k) const noexcept {
    const bool twice = bits(plan_.product.b) == 16 && small_plan(plan_.product, blocking, k).kernels != nullptr;
    return twice ? 2 * kSmallRows : kSmallRows;
  }

  // out = rows [place, place + rows) of the product with columns [n0, n0 + columns) of an expert's weights.
  void product(const GemmArgs& p, const Block& block, const std::int32_t* a_rows, float* out,
               unsigned char* slot) const noexcept {
    const Blocking blocking = cutting_.part_blocking(p.k);
    const bool few = block.rows <= few_rows(blocking, p.k) && !is_faster_by_tiles(blocking, block.rows);
    const std::int64_t steps = few ? ceil_div(block.rows, kSmallRows) : 1;
    const std::int64_t step = steps == 1 ? block.rows : ceil_div(ceil_div(block.rows, steps), 4) * 4;
    for (std::int64_t r = 0; r < block.rows; r += step)
      run_part(plan_.product, blocking, std::min(step, block.rows - r), block.columns, few, p,
               {block.place + r, block.n0, out + r * p.ldc, a_rows}, slot);
  }

  void gate_up_block(const Block& block, unsigned char* h, std::int64_t ldh, const std::int32_t* to,
                     unsigned char* slot) const noexcept {
    GemmArgs p =
        expert_args(plan_.product, up_weights(plan_.moe, plan_.shape, args_), block.expert, args_, plan_.shape.tokens);
    p.ldc = plan_.up_columns;
    auto* gate = reinterpret_cast<float*>(slot + plan_.result_offset);
    auto* up = reinterpret_cast<float*>(slot + plan_.up_offset);
    product(p, block, lists_.token, gate, slot);
    if (plan_.moe.gated) {
      Block upper = block;
      upper.n0 += plan_.hidden;
      product(p, upper, lists_.token, up, slot);
    }
    const DType c = cutting_.traits().c;
    for (std::int64_t r = 0; r < block.rows; ++r) {
      const std::int64_t place = block.place + r;
      float* values = gate + r * p.ldc;
      activate(values, plan_.moe.gated ? up + r * p.ldc : nullptr, block.columns, lists_.weight[lists_.row[place]]);
      const std::int64_t row = to == nullptr ? place : to[place];
      isa_.encode(c, values, h + bytes_of(c, row * ldh + block.n0), block.columns);
    }
  }

  // gate = act(gate) (* up), both times the weight first where the traits say so.
  void activate(float* gate, float* up, std::int64_t n, float weight) const noexcept {
    FuseArgs f{};
    f.c = DType::fp32;
    f.n = n;
    f.alpha = weight;
    if (plan_.moe.weight_first) {
      f.ops[0] = EpilogueOp::scale;
      isa_.fuse(f, gate);
      if (up != nullptr) isa_.fuse(f, up);
    }
    f.ops[0] = cutting_.traits().epilogue.ops[0];
    if (up != nullptr) {
      f.ops[1] = EpilogueOp::mul;
      f.d[0] = up;
    }
    isa_.fuse(f, gate);
  }

  void quantize_hidden(MoeArgs& hidden) const noexcept {
    QuantizeTask task{};
    task.isa = &isa_;
    task.traits = &cutting_.traits();
    task.rows = plan_.rows;
    task.columns = plan_.hidden;
    task.values = workspace_ + plan_.h_offset;
    task.codes = workspace_ + plan_.codes_offset;
    task.scales = workspace_ + plan_.scales_offset;
    task.shuffled = args_.mx_scale_shuffled;
    task.threads = plan_.threads;
    quantize(task, workspace_ + plan_.slots_offset, reinterpret_cast<float*>(workspace_ + plan_.largest_offset));
    hidden.a = task.codes;
    hidden.a_scale = task.scales;
    hidden.a_scale_row_major = true;
  }

  // C = the slots of each token in their order; place p is row from[p] of H, or row p.
  void down(const MoeArgs& hidden, const std::int32_t* from) const noexcept {
    const ExpertWeights weights = down_weights(plan_.moe, plan_.shape, args_);
    parallel_for(ceil_div(weights.rows, plan_.down_columns), plan_.threads, [&](std::int64_t i, int index) {
      Block block{};
      block.n0 = i * plan_.down_columns;
      block.columns = std::min(plan_.down_columns, weights.rows - block.n0);
      auto* results = reinterpret_cast<float*>(slot(index) + plan_.result_offset);
      for (; block.expert < lists_.experts; ++block.expert) {
        block.place = lists_.first[block.expert];
        block.rows = lists_.rows_of(block.expert);
        if (block.rows == 0) continue;
        GemmArgs p = expert_args(plan_.product, weights, block.expert, hidden, plan_.rows);
        p.ldc = plan_.down_columns;
        product(p, block, from, results + block.place * p.ldc, slot(index));
      }
      add_slots(block, results, reinterpret_cast<float*>(slot(index) + plan_.line_offset));
    });
  }

  void add_slots(const Block& block, const float* results, float* line) const noexcept {
    const DType c = cutting_.traits().c;
    const std::int64_t top_k = lists_.top_k;
    for (std::int64_t t = 0; t < plan_.shape.tokens; ++t) {
      const float* sum = nullptr;
      float *next = line, *other = line + plan_.down_columns;
      for (std::int64_t row = t * top_k; row < (t + 1) * top_k; ++row) {
        const float weight = plan_.moe.weight_first ? 1.0F : lists_.weight[row];
        isa_.finish(
            {results + lists_.place[row] * plan_.down_columns, false, block.columns, weight, 1.0F, nullptr, sum}, next);
        sum = next;
        std::swap(next, other);
      }
      isa_.encode(c, sum, static_cast<unsigned char*>(args_.c) + bytes_of(c, t * args_.ldc + block.n0), block.columns);
    }
  }

  const Cutting& cutting_;
  const MoePlan& plan_;
  const MoeArgs& args_;
  unsigned char* const workspace_;
  const IsaTable& isa_;
  const ExpertRows lists_;
};

}  // namespace

ExpertWeights up_weights(const MoeTraits& moe, const MoeShape& x, const MoeArgs& args) noexcept {
  return {args.w1, args.w1_scale, (moe.gated ? 2 : 1) * x.n, x.k};
}

ExpertWeights down_weights(const MoeTraits& moe, const MoeShape& x, const MoeArgs& args) noexcept {
  const bool whole = moe.part == MoePart::layer;
  return {args.w2, args.w2_scale, whole ? x.k : x.n, whole ? x.n : x.k};
}

GemmArgs expert_args(const GemmTraits& product, const ExpertWeights& weights, std::int64_t expert, const MoeArgs& args,
                     std::int64_t a_rows) noexcept {
  GemmArgs p{};
  p.a = args.a;
  p.b = after(weights.base, static_cast<std::size_t>(bytes_of(product.b, expert * weights.rows * weights.k)));
  p.a_scale = args.a_scale;
  p.b_scale = after(weights.scales,
                    static_cast<std::size_t>(expert) * weight_scale_bytes(product, weights, args.mx_scale_shuffled));
  p.a_scale_row_major = args.a_scale_row_major;
  p.mx_scale_shuffled = args.mx_scale_shuffled;
  p.m = a_rows;
  p.n = weights.rows;
  p.k = weights.k;
  p.batch = 1;
  p.lda = args.lda;
  p.ldb = weights.k;
  return p;
}

MoePlan make_moe_plan(const Cutting& cutting, const MoeTraits& moe, const MoeShape& shape) noexcept {
  MoePlan plan{};
  plan.shape = shape;
  plan.moe = moe;
  plan.product = cutting.traits();
  plan.product.c = DType::fp32;
  plan.product.epilogue = {};
  plan.rows = shape.tokens * shape.routing.top_k;
  plan.hidden = moe.part == MoePart::down ? shape.k : shape.n;
  const ExpertWeights last = down_weights(moe, shape, {});
  const Blocking blocking = cutting.blocking(shape.k);
  plan.threads = flops_of(plan.rows, shape.n, shape.k) < kSerialFlops ? 1 : blocking.threads;
  plan.part_rows = std::min(plan.rows, kPartRows);
  const std::int64_t busy = std::min<std::int64_t>(shape.routing.experts, plan.rows);
  plan.up_columns =
      item_columns(plan.hidden, ceil_div(kItemsPerThread * plan.threads, busy), plan.part_rows, blocking.nr);
  plan.down_columns = item_columns(last.rows, kItemsPerThread * plan.threads, plan.rows, blocking.nr);

  std::size_t at = expert_rows_bytes(shape.tokens, shape.routing);
  const bool whole = moe.part == MoePart::layer;
  const std::int64_t elements = whole ? plan.rows * plan.hidden : 0;
  plan.h_offset = at;
  at += aligned_64(static_cast<std::size_t>(bytes_of(cutting.traits().c, elements)));
  plan.codes_offset = plan.scales_offset = plan.largest_offset = at;
  const bool requantizes = whole && quantizes(cutting.traits());
  if (requantizes) {
    at += aligned_64(static_cast<std::size_t>(bytes_of(cutting.traits().a, elements)));
    plan.scales_offset = at;
    at += aligned_64(scale_bytes(cutting.traits(), plan.rows, plan.hidden));
    plan.largest_offset = at;
    if (cutting.traits().quant == Quant::per_tensor) at += words_bytes(plan.rows, 1);
  }
  plan.slots_offset = at;

  std::size_t part = 0, results = 0;
  if (has_gate_up(moe.part)) {
    part = part_bytes(plan.product, cutting.part_blocking(shape.k), plan.part_rows, plan.up_columns, shape.k);
    plan.up_offset = words_bytes(plan.part_rows, plan.up_columns);
    results = plan.up_offset * (moe.gated ? 2 : 1);
  }
  if (has_down(moe.part)) {
    part =
        std::max(part, part_bytes(plan.product, cutting.part_blocking(last.k), plan.rows, plan.down_columns, last.k));
    plan.line_offset = words_bytes(plan.rows, plan.down_columns);
    results = std::max(results, plan.line_offset + words_bytes(2, plan.down_columns));
  }
  plan.result_offset = aligned_64(part);
  plan.up_offset += plan.result_offset;
  plan.line_offset += plan.result_offset;
  plan.slot_bytes = plan.result_offset + results;
  if (requantizes) plan.slot_bytes = std::max(plan.slot_bytes, aligned_64(quantize_slot_bytes(plan.hidden)));
  plan.bytes = plan.slots_offset + plan.slot_bytes * static_cast<std::size_t>(plan.threads);
  return plan;
}

bool run_moe(const Cutting& cutting, const MoePlan& plan, const MoeArgs& args, void* workspace) noexcept {
  const MoeLayer layer(cutting, plan, args, workspace);
  if (!layer.list()) return false;
  layer.run();
  return true;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
