// Weights packed once for the CPU's own kernels: what B becomes, how many bytes it takes, and what is checked of it.
//
// A packed B is a header of 64 bytes and then, batch entry by batch entry, panels of 16 columns: the array
// [ceil(N/16)][words][16] of 32-bit words. Word w of a column holds B's elements k = w*e to w*e + e-1, lowest byte
// first, in B's own type: e is 1 of fp32, 2 of fp16 and bf16, 4 of int8, and words = ceil(K/e). What lies beyond N or K
// is zero. The header says layout, type and sizes, and has a check sum of its own, so that a wrong buffer is refused.
//
// A packed B is `GemmArgs::b` with `GemmArgs::b_prepacked` set: every instance of the CPU itself takes it, of any
// level, and so one packed B serves every plan of its signature. Sums are in the order that Problem::batch_invariant
// asks for, whatever M is. Layout 1 stands for this order of bytes: what is stored may be read by every version with
// that number.
#pragma once

#include <cstdint>

#include <ckgen/export.h>
#include <ckgen/dtype.hpp>
#include <ckgen/result.hpp>
#include <ckgen/signature.hpp>

namespace ckgen {
inline namespace v1 {

inline constexpr std::uint32_t kPackedBLayout = 1;
inline constexpr std::int64_t kPackedBColumns = 16;  // of a panel

struct PackedBHeader {
  char magic[8];  // kPackedBMagic
  std::uint32_t layout, header_bytes;
  char dtype[8];  // B's type by its name, filled up with NULs
  std::int64_t n, k, batch;
  std::uint64_t reserved;  // 0
  std::uint64_t check;     // FNV-1a of the bytes before
};
static_assert(sizeof(PackedBHeader) == 64);
inline constexpr char kPackedBMagic[8] = {'c', 'k', 'g', 'e', 'n', 'P', 'K', 'B'};

/// Whether B of this type can be packed; the others are read in their own precision as they lie.
constexpr bool can_prepack(DType b) noexcept {
  return b == DType::fp32 || b == DType::fp16 || b == DType::bf16 || b == DType::int8;
}
/// Words of a column. Precondition: can_prepack(b), k at least 0.
constexpr std::int64_t packed_b_words(DType b, std::int64_t k) noexcept {
  const std::int64_t e = 32 / bits(b);
  return (k + e - 1) / e;
}
/// Bytes of the panels of one batch entry. Precondition: as above; n and k as packed_b_bytes() takes them.
constexpr std::int64_t packed_b_stride(DType b, std::int64_t n, std::int64_t k) noexcept {
  return (n + kPackedBColumns - 1) / kPackedBColumns * kPackedBColumns * packed_b_words(b, k) * 4;
}

/// B as GemmArgs has it: `ldb` is ignored where the signature says that B is preshuffled.
struct PlainB {
  const void* b;
  std::int64_t n, k;
  std::int64_t ldb = 0;  // 0: rows without gaps
  std::int64_t batch = 1;
  std::int64_t batch_stride = 0;  // elements; 0: entries without gaps
};

/// Bytes of a packed B. unsupported: an op but gemm, a type that is not packed, a B of two tensors; invalid_argument:
/// negative sizes, or sizes of more than 2^60 bytes.
CKGEN_API Result<std::uint64_t> packed_b_bytes(const Signature& signature, std::int64_t n, std::int64_t k,
                                               std::int64_t batch = 1) noexcept;
/// Packs with as many threads as a product may use. `packed` holds at least packed_b_bytes(), of any alignment (64 is
/// faster), and does not overlap B. Refused besides: a null pointer, an ldb or batch stride that is too short.
CKGEN_API Status pack_b(const Signature& signature, const PlainB& plain, void* packed, std::uint64_t bytes) noexcept;
/// Whether these bytes, at least 64, begin a B of this type and these sizes: invalid_argument, with what is wrong.
CKGEN_API Status check_packed_b(DType b, std::int64_t n, std::int64_t k, std::int64_t batch,
                                const void* packed) noexcept;

}  // namespace v1
}  // namespace ckgen
