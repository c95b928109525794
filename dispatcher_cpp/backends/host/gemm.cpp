// The door: everything that can be wrong with a call is found here, before any work.
#include "backends/host/gemm.hpp"

#include "backends/host/check_fused.hpp"
#include "backends/host/driver.hpp"
#include "backends/host/isa_table.hpp"
#include "backends/host/stream_k.hpp"
#include "ckgen/preshuffle.hpp"
#include "ckgen/scales.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;
constexpr std::int32_t kMaxBlock = 1 << 16;
constexpr std::int32_t kMaxDepth = 1 << 20;

const char* text(DType t) noexcept {
  return name(t).data();
}  // the names are literals, so NUL-terminated

bool is_fp8(DType t) noexcept {
  return t == DType::fp8_fnuz || t == DType::fp8_ocp || t == DType::bf8_fnuz || t == DType::bf8_ocp;
}
bool is_float_operand(DType t) noexcept {
  return t == DType::fp32 || t == DType::fp16 || t == DType::bf16 || t == DType::fp4 || is_fp8(t);
}
bool is_float_result(DType t) noexcept {
  return t == DType::fp32 || t == DType::fp16 || t == DType::bf16;
}

// There are no AMX kernels yet: such a CPU runs the v4_bf16 ones.
const IsaTable* table_for(Isa isa) noexcept {
  switch (isa) {
    case Isa::x86_64_v3: return &kIsaV3;
    case Isa::x86_64_v4: return &kIsaV4;
    case Isa::x86_64_v4_bf16:
    case Isa::x86_64_amx: return &kIsaV4Bf16;
  }
  return nullptr;
}

Status check_traits(const GemmTraits& t) noexcept {
  if (t.a == DType::int8 && t.b == DType::int8) {
    if (t.acc != DType::int32)
      return Status::error(StatusCode::unsupported, "int8 operands accumulate in int32, not %s", text(t.acc));
    if (t.quant == Quant::blockscale || t.quant == Quant::mx)
      return Status::error(StatusCode::unsupported, "int8 operands have no %s twin", name(t.quant).data());
    if (t.c == DType::int32 && (t.quant != Quant::none || t.bias))
      return Status::error(StatusCode::unsupported, "an int32 result takes neither scales nor bias");
    if (t.c != DType::int32 && !is_float_result(t.c))
      return Status::error(StatusCode::unsupported, "result dtype %s is not one of int32, fp32, fp16, bf16", text(t.c));
  } else {
    if (!is_float_operand(t.a) || !(is_float_operand(t.b) || t.b == DType::int4))
      return Status::error(StatusCode::unsupported, "no host kernel for a=%s b=%s", text(t.a), text(t.b));
    if (t.acc != DType::fp32)
      return Status::error(StatusCode::unsupported, "float operands accumulate in fp32, not %s", text(t.acc));
    if (!is_float_result(t.c))
      return Status::error(StatusCode::unsupported, "result dtype %s is not one of fp32, fp16, bf16", text(t.c));
  }
  if (const Status s = check_fused_traits(t); !s.ok()) return s;
  if (t.b == DType::int4 && (t.preshuffle_b || b_is_row_major(t.layout)))
    return Status::error(StatusCode::unsupported, "an int4 B is packed along K and not preshuffled");
  if (t.scale_block.k == 0 || t.scale_block.n == 0 || t.scale_block.sides > ScaleSides::b)
    return Status::error(StatusCode::invalid_argument, "the scale block is out of range");
  if (t.quant > Quant::mx || t.layout > Layout::crr)
    return Status::error(StatusCode::invalid_argument, "quant or layout out of range");
  if (t.preshuffle_b && b_is_row_major(t.layout))
    return Status::error(StatusCode::unsupported, "a preshuffled B needs layout rcr or ccr, not %s",
                         name(t.layout).data());
  return Status::success();
}

bool config_in_range(const TwinConfig& c) noexcept {
  return c.tile_m >= 1 && c.tile_m <= kMaxBlock && c.tile_n >= 1 && c.tile_n <= kMaxBlock && c.tile_k >= 1 &&
         c.tile_k <= kMaxBlock && c.k_batch_mode >= 0 && c.k_batch_mode <= 2;
}

Status check_sizes(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) noexcept {
  if (m < 0 || n < 0 || k < 0 || batch < 0 || m > kMaxExtent || n > kMaxExtent || k > kMaxExtent || batch > kMaxExtent)
    return Status::error(StatusCode::invalid_argument, "m=%lld n=%lld k=%lld batch=%lld: each must be in [0, 2^40]",
                         static_cast<long long>(m), static_cast<long long>(n), static_cast<long long>(k),
                         static_cast<long long>(batch));
  return Status::success();
}

bool empty(std::int64_t m, std::int64_t n, std::int64_t batch) noexcept {
  return m == 0 || n == 0 || batch == 0;
}

// rows x columns at leading dimension ld, `batch` times: does it fit 63 bits, is ld long enough?
Status check_matrix(const char* what, std::int64_t rows, std::int64_t columns, std::int64_t ld, std::int64_t batch,
                    std::int64_t batch_stride, DType type) noexcept {
  if (ld < columns)
    return Status::error(StatusCode::invalid_argument, "ld%s=%lld is less than the row length %lld", what,
                         static_cast<long long>(ld), static_cast<long long>(columns));
  if (batch > 1 && batch_stride < 0)
    return Status::error(StatusCode::invalid_argument, "batch_stride_%s=%lld is negative", what,
                         static_cast<long long>(batch_stride));
  if (bits(type) == 4 && batch > 1 && batch_stride % 2 != 0)
    return Status::error(StatusCode::invalid_argument, "batch_stride_%s=%lld would start inside a byte", what,
                         static_cast<long long>(batch_stride));
  std::int64_t one = 0, all = 0, end = 0;
  if (__builtin_mul_overflow(rows, ld, &one) || __builtin_mul_overflow(batch > 1 ? batch : 0, batch_stride, &all) ||
      __builtin_add_overflow(one, all, &end) || end > (std::int64_t{1} << 60))
    return Status::error(StatusCode::invalid_argument, "%s: the extent does not fit in 63 bits", what);
  return Status::success();
}

Status check_args(const GemmTraits& t, const GemmArgs& p, const void* workspace) noexcept {
  const auto missing = [](const char* field) {
    return Status::error(StatusCode::invalid_argument, "%s is null", field);
  };
  if (p.c == nullptr) return missing("c");
  if (p.k > 0 && p.a == nullptr) return missing("a");
  if (p.k > 0 && p.b == nullptr) return missing("b");
  if (scales_a(t.quant, t.scale_block) && p.a_scale == nullptr) return missing("a_scale");
  if (scales_b(t.quant, t.scale_block) && p.b_scale == nullptr) return missing("b_scale");
  if (t.bias && p.bias == nullptr) return missing("bias");
  if (!t.bias && p.bias != nullptr)
    return Status::error(StatusCode::invalid_argument, "bias is given, but this instance adds none");
  if (workspace == nullptr || reinterpret_cast<std::uintptr_t>(workspace) % 16 != 0)
    return Status::error(StatusCode::invalid_argument, "workspace is null or not aligned to 16 bytes");

  const bool a_rows = a_is_row_major(t.layout), b_rows = b_is_row_major(t.layout);
  Status s = check_matrix("a", a_rows ? p.m : p.k, a_rows ? p.k : p.m, p.lda, p.batch, p.batch_stride_a, t.a);
  if (!s.ok()) return s;
  const std::int64_t b_row = b_rows ? p.n : p.k;
  s = check_matrix("b", b_rows ? p.k : p.n, b_row, t.preshuffle_b ? b_row : p.ldb, p.batch, p.batch_stride_b, t.b);
  if (!s.ok()) return s;
  s = check_matrix("c", p.m, p.n, p.ldc, p.batch, p.batch_stride_c, t.c);
  if (!s.ok()) return s;
  if (p.batch > 1 && p.batch_stride_c < (p.m - 1) * p.ldc + p.n)
    return Status::error(StatusCode::invalid_argument, "batch_stride_c=%lld makes the results overlap",
                         static_cast<long long>(p.batch_stride_c));
  if (t.preshuffle_b && (p.k * bits(t.b) % 8 != 0 || !can_preshuffle(p.n, bytes_of(t.b, p.k))))
    return Status::error(StatusCode::invalid_argument,
                         "preshuffled B needs n=%lld to be a multiple of 16 and k=%lld to span multiples of 32 bytes",
                         static_cast<long long>(p.n), static_cast<long long>(p.k));
  return check_fused_args(t, p);
}

// ---- twins --------------------------------------------------------------------------------------------------------

Blocking twin_blocking(const GemmTraits& t, const TwinConfig& c, std::int64_t k_batch, std::int64_t k) noexcept {
  Blocking b{};
  b.isa = table_for(detect_isa());
  b.kind = t.a == DType::int8 ? PackKind::i16 : PackKind::f32;
  const MicroKernel& tall = b.isa->menu[static_cast<int>(b.kind)].kernels[0];
  b.mr = tall.mr;
  b.nr = tall.nr;
  b.block_m = c.tile_m;
  b.block_n = c.tile_n;
  // Any depth gives the same sums; whole tiles of K near 256 keep a panel of B in the first-level cache.
  b.kc = c.tile_k * std::max<std::int64_t>(1, 256 / c.tile_k);
  const std::int64_t step = k_batch * c.tile_k;
  b.split = std::max<std::int64_t>(1, (k + step - 1) / step * c.tile_k);
  b.split_mode = c.k_batch_mode;
  b.threads = thread_count();
  return b;
}

Status check_twin(const GemmTraits& t, const TwinConfig& c, std::int64_t k_batch) noexcept {
  const Status s = gemm_twin_supports(t, c);
  if (!s.ok()) return s;
  if (k_batch < 1 || k_batch > kMaxDepth)
    return Status::error(StatusCode::invalid_argument, "k_batch=%lld is outside [1, 2^20]",
                         static_cast<long long>(k_batch));
  if (k_batch > 1 && c.k_batch_mode == 0)
    return Status::error(StatusCode::invalid_argument, "k_batch=%lld, but this instance does not split K",
                         static_cast<long long>(k_batch));
  if (k_batch > 1 && !t.epilogue.empty())
    return Status::error(StatusCode::unsupported, "k_batch=%lld: an epilogue takes whole sums",
                         static_cast<long long>(k_batch));
  return Status::success();
}

Status check_padding(const GemmTraits& t, const TwinConfig& c, std::int64_t k_batch, const GemmArgs& p) noexcept {
  const auto refuse = [](const char* dim, std::int64_t size, std::int64_t tile) {
    return Status::error(StatusCode::unsupported, "%s=%lld is not a multiple of %lld and this instance does not pad %s",
                         dim, static_cast<long long>(size), static_cast<long long>(tile), dim);
  };
  if (!c.pad_k && p.k % (c.tile_k * k_batch) != 0) return refuse("k", p.k, c.tile_k * k_batch);
  if (!c.pad_m && !a_is_row_major(t.layout) && p.m % c.tile_m != 0) return refuse("m", p.m, c.tile_m);
  if (!c.pad_n && b_is_row_major(t.layout) && p.n % c.tile_n != 0) return refuse("n", p.n, c.tile_n);
  return Status::success();
}

// ---- host instances -----------------------------------------------------------------------------------------------

// bf16 and every 8-bit float are exact as bf16; scales per K group and operands of two tensors need fp32 panels.
PackKind host_kind(const GemmTraits& t, const IsaTable& isa) noexcept {
  if (t.a == DType::int8) return PackKind::i16;
  const bool narrow = (t.a == DType::bf16 || is_fp8(t.a)) && (t.b == DType::bf16 || is_fp8(t.b));
  const bool grouped = t.quant == Quant::blockscale || t.quant == Quant::mx;
  const bool combines = t.a_op != OperandOp::none || t.b_op != OperandOp::none;
  return narrow && !grouped && !combines && isa.menu[static_cast<int>(PackKind::bf16)].count > 0 ? PackKind::bf16
                                                                                                 : PackKind::f32;
}

Blocking host_blocking(const GemmTraits& t, const HostConfig& c, std::int64_t k) noexcept {
  Blocking b{};
  b.isa = table_for(c.isa);
  b.kind = host_kind(t, *b.isa);
  b.mr = c.mr;
  b.nr = c.nr;
  b.block_m = c.mc;
  b.block_n = c.nc;
  b.kc = c.kc;
  b.split = std::max<std::int64_t>(1, k);
  b.split_mode = 0;
  b.threads = c.threads == 0 ? thread_count() : std::min(c.threads, thread_count());
  return b;
}

// ---- stream-K -----------------------------------------------------------------------------------------------------

StreamKCut cut_of(const TwinConfig& c, Strategy strategy, std::int64_t workgroups) noexcept {
  return {strategy, c.tile_m, c.tile_n, c.tile_k, workgroups};
}
StreamKCut cut_of(const HostConfig& c, Strategy strategy, std::int64_t workgroups) noexcept {
  return {strategy, c.mc, c.nc, c.kc, workgroups};
}

Status check_cut(const GemmTraits& t, const StreamKCut& cut, const Sizes& size) noexcept {
  if (t.quant == Quant::blockscale || t.quant == Quant::mx)
    return Status::error(StatusCode::unsupported, "stream-K has no kernel for scales of K groups (%s)",
                         name(t.quant).data());
  if (cut.strategy == Strategy::atomic && !t.epilogue.empty())
    return Status::error(StatusCode::unsupported, "atomic stream-K adds parts: an epilogue takes whole sums");
  if (cut.strategy <= Strategy::data_parallel || cut.strategy > Strategy::tree || cut.workgroups < 1)
    return Status::error(StatusCode::invalid_argument, "strategy or workgroups out of range for stream-K");
  const StreamKPartition p =
      stream_k_partition(size.batch, size.m, size.n, size.k, cut.tile_m, cut.tile_n, cut.tile_k, cut.workgroups);
  if (p.feasible()) return Status::success();
  return Status::error(StatusCode::unsupported, "%lld iterations of K are fewer than %lld workgroups",
                       static_cast<long long>(p.sk_iters()), static_cast<long long>(p.grid));
}

Status run_cut(const GemmTraits& traits, const Blocking& blocking, const StreamKCut& cut, const GemmArgs& args,
               void* workspace) noexcept {
  const Sizes size{args.m, args.n, args.k, args.batch};
  const Status s = check_cut(traits, cut, size);
  if (s.ok()) execute_stream_k(make_stream_k_geometry(blocking, cut, size), traits, args, workspace);
  return s;
}

}  // namespace

Status gemm_twin_supports(const GemmTraits& traits, const TwinConfig& config) noexcept {
  if (!config_in_range(config))
    return Status::error(StatusCode::invalid_argument, "tile %dx%dx%d or k_batch_mode %d is out of range",
                         config.tile_m, config.tile_n, config.tile_k, config.k_batch_mode);
  if (!isa_available(Isa::x86_64_v3))
    return Status::error(StatusCode::unsupported, "%s has no AVX2, FMA and F16C", cpu_brand());
  return check_traits(traits);
}

Status gemm_host_supports(const GemmTraits& traits, const HostConfig& config) noexcept {
  if (config.mc < 1 || config.mc > kMaxBlock || config.nc < 1 || config.nc > kMaxBlock || config.kc < 1 ||
      config.kc > kMaxDepth || config.threads < 0 || config.isa > Isa::x86_64_amx)
    return Status::error(StatusCode::invalid_argument, "mc=%d nc=%d kc=%d threads=%d is out of range", config.mc,
                         config.nc, config.kc, config.threads);
  if (!isa_available(config.isa))
    return Status::error(StatusCode::unsupported, "%s is not an %s CPU", cpu_brand(), isa_name(config.isa));
  const Status s = check_traits(traits);
  if (!s.ok()) return s;
  RegisterTile tiles[32];
  const int n = host_register_tiles(traits, config.isa, tiles, 32);
  for (int i = 0; i < n; ++i)
    if (tiles[i].mr == config.mr && tiles[i].nr == config.nr) return Status::success();
  return Status::error(StatusCode::unsupported, "no %dx%d register tile for %s x %s on %s", config.mr, config.nr,
                       text(traits.a), text(traits.b), isa_name(config.isa));
}

int host_register_tiles(const GemmTraits& traits, Isa isa, RegisterTile* out, int capacity) noexcept {
  const IsaTable* table = table_for(isa);
  if (table == nullptr) return 0;
  const IsaTable::Menu& menu = table->menu[static_cast<int>(host_kind(traits, *table))];
  int n = 0;
  for (; n < menu.count && n < capacity; ++n) out[n] = {menu.kernels[n].mr, menu.kernels[n].nr};
  return n;
}

std::size_t gemm_twin_workspace(const GemmTraits& traits, const TwinConfig& config, std::int64_t k_batch,
                                std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) noexcept {
  if (!check_twin(traits, config, k_batch).ok() || !check_sizes(m, n, k, batch).ok() || empty(m, n, batch)) return 0;
  return make_geometry(traits, twin_blocking(traits, config, k_batch, k), {m, n, k, batch}).bytes;
}

std::size_t gemm_host_workspace(const GemmTraits& traits, const HostConfig& config, std::int64_t m, std::int64_t n,
                                std::int64_t k, std::int64_t batch) noexcept {
  if (!gemm_host_supports(traits, config).ok() || !check_sizes(m, n, k, batch).ok() || empty(m, n, batch)) return 0;
  return make_geometry(traits, host_blocking(traits, config, k), {m, n, k, batch}).bytes;
}

Status run_gemm_twin(const GemmTraits& traits, const TwinConfig& config, std::int64_t k_batch, const GemmArgs& args,
                     void* workspace) noexcept {
  Status s = check_twin(traits, config, k_batch);
  if (s.ok()) s = check_sizes(args.m, args.n, args.k, args.batch);
  if (!s.ok() || empty(args.m, args.n, args.batch)) return s;
  s = check_args(traits, args, workspace);
  if (s.ok()) s = check_padding(traits, config, k_batch, args);
  if (!s.ok()) return s;
  execute(make_geometry(traits, twin_blocking(traits, config, k_batch, args.k), {args.m, args.n, args.k, args.batch}),
          traits, args, workspace);
  return s;
}

Status run_gemm_host(const GemmTraits& traits, const HostConfig& config, const GemmArgs& args,
                     void* workspace) noexcept {
  Status s = gemm_host_supports(traits, config);
  if (s.ok()) s = check_sizes(args.m, args.n, args.k, args.batch);
  if (!s.ok() || empty(args.m, args.n, args.batch)) return s;
  s = check_args(traits, args, workspace);
  if (!s.ok()) return s;
  execute(make_geometry(traits, host_blocking(traits, config, args.k), {args.m, args.n, args.k, args.batch}), traits,
          args, workspace);
  return s;
}

std::size_t gemm_twin_stream_k_workspace(const GemmTraits& traits, const TwinConfig& config, Strategy strategy,
                                         std::int64_t workgroups, std::int64_t m, std::int64_t n, std::int64_t k,
                                         std::int64_t batch) noexcept {
  if (!check_twin(traits, config, 1).ok() || !check_sizes(m, n, k, batch).ok() || empty(m, n, batch)) return 0;
  const StreamKCut cut = cut_of(config, strategy, workgroups);
  const Sizes size{m, n, k, batch};
  if (!check_cut(traits, cut, size).ok()) return 0;
  return make_stream_k_geometry(twin_blocking(traits, config, 1, k), cut, size).bytes;
}

std::size_t gemm_host_stream_k_workspace(const GemmTraits& traits, const HostConfig& config, Strategy strategy,
                                         std::int64_t workgroups, std::int64_t m, std::int64_t n, std::int64_t k,
                                         std::int64_t batch) noexcept {
  if (!gemm_host_supports(traits, config).ok() || !check_sizes(m, n, k, batch).ok() || empty(m, n, batch)) return 0;
  const StreamKCut cut = cut_of(config, strategy, workgroups);
  const Sizes size{m, n, k, batch};
  if (!check_cut(traits, cut, size).ok()) return 0;
  return make_stream_k_geometry(host_blocking(traits, config, k), cut, size).bytes;
}

Status run_gemm_twin_stream_k(const GemmTraits& traits, const TwinConfig& config, Strategy strategy,
                              std::int64_t workgroups, const GemmArgs& args, void* workspace) noexcept {
  Status s = check_twin(traits, config, 1);
  if (s.ok()) s = check_sizes(args.m, args.n, args.k, args.batch);
  if (!s.ok() || empty(args.m, args.n, args.batch)) return s;
  s = check_args(traits, args, workspace);
  if (s.ok()) s = check_padding(traits, config, 1, args);
  if (!s.ok()) return s;
  return run_cut(traits, twin_blocking(traits, config, 1, args.k), cut_of(config, strategy, workgroups), args,
                 workspace);
}

Status run_gemm_host_stream_k(const GemmTraits& traits, const HostConfig& config, Strategy strategy,
                              std::int64_t workgroups, const GemmArgs& args, void* workspace) noexcept {
  Status s = gemm_host_supports(traits, config);
  if (s.ok()) s = check_sizes(args.m, args.n, args.k, args.batch);
  if (!s.ok() || empty(args.m, args.n, args.batch)) return s;
  s = check_args(traits, args, workspace);
  if (!s.ok()) return s;
  return run_cut(traits, host_blocking(traits, config, args.k), cut_of(config, strategy, workgroups), args, workspace);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
