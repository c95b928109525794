// Packs B once, and says what is wrong with a packed one.
#include "ckgen/prepack.hpp"

#include "backends/host/gemm/gemm.hpp"
#include "backends/host/threads.hpp"
#include "ckgen/preshuffle.hpp"

#include <algorithm>
#include <cstring>

namespace ckgen {
inline namespace v1 {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;
constexpr std::int64_t kLineWords = 16;

std::uint64_t check_sum(const PackedBHeader& header) noexcept {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&header);
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (std::size_t i = 0; i < offsetof(PackedBHeader, check); ++i) sum = (sum ^ bytes[i]) * 0x100000001b3U;
  return sum;
}

PackedBHeader header_of(DType b, std::int64_t n, std::int64_t k, std::int64_t batch) noexcept {
  PackedBHeader header{{}, kPackedBLayout, sizeof(PackedBHeader), {}, n, k, batch, 0, 0};
  std::memcpy(header.magic, kPackedBMagic, sizeof header.magic);
  std::memcpy(header.dtype, name(b).data(), std::min(name(b).size(), sizeof header.dtype));
  header.check = check_sum(header);
  return header;
}

Status check_type(const Signature& s) noexcept {
  if (s.op != Op::gemm)
    return Status::error(StatusCode::unsupported, "op %s takes no prepacked B: pass its weights as they are",
                         name(s.op).data());
  if (!can_prepack(s.b))
    return Status::error(StatusCode::unsupported,
                         "B of type %s is not prepacked (fp32, fp16, bf16 and int8 are): pass it as it is",
                         name(s.b).data());
  if (s.b_op != OperandOp::none)
    return Status::error(StatusCode::unsupported, "a B of two tensors is not prepacked: pass both as they are");
  return Status::success();
}

Result<std::uint64_t> bytes_of_packed(DType b, std::int64_t n, std::int64_t k, std::int64_t batch) noexcept {
  const bool is_sane = n >= 0 && k >= 0 && batch >= 0 && n <= kMostBytes && k <= kMostBytes;
  std::int64_t bytes = 0;
  if (!is_sane ||
      __builtin_mul_overflow((n + kPackedBColumns - 1) / kPackedBColumns * kPackedBColumns * 4, packed_b_words(b, k),
                             &bytes) ||
      __builtin_mul_overflow(bytes, batch, &bytes) || bytes > kMostBytes)
    return Status::error(StatusCode::invalid_argument,
                         "n=%lld k=%lld batch=%lld of a packed B: negative, or more than 2^60 bytes",
                         static_cast<long long>(n), static_cast<long long>(k), static_cast<long long>(batch));
  return static_cast<std::uint64_t>(bytes) + sizeof(PackedBHeader);
}

// Columns [n0, n0 + 16) of one batch entry.
class PanelPacker {
 public:
  PanelPacker(const Signature& s, const PlainB& plain) noexcept
      : plain_(plain),
        size_(bits(s.b) / 8),
        words_(packed_b_words(s.b, plain.k)),
        by_row_(b_is_row_major(s.layout) && !s.preshuffle_b),
        preshuffled_(s.preshuffle_b) {}

  std::int64_t words() const noexcept { return words_; }

  void pack(const unsigned char* b, std::int64_t n0, unsigned char* panel) const noexcept {
    const std::int64_t columns = std::min(kPackedBColumns, plain_.n - n0);
    if (columns < kPackedBColumns) std::memset(panel, 0, static_cast<std::size_t>(words_) * kPackedBColumns * 4);
    if (!by_row_) {
      by_column(b, n0, columns, panel);
    } else if (size_ == 4) {
      by_row<4>(b, n0, columns, panel);
    } else if (size_ == 2) {
      by_row<2>(b, n0, columns, panel);
    } else {
      by_row<1>(b, n0, columns, panel);
    }
  }

 private:
  // Whatever the type, the words of a column are its bytes, four at a time.
  void by_column(const unsigned char* b, std::int64_t n0, std::int64_t columns, unsigned char* panel) const noexcept {
    const std::int64_t row_bytes = plain_.k * size_;
    for (std::int64_t w0 = 0; w0 < words_; w0 += kLineWords) {
      const std::int64_t w1 = std::min(w0 + kLineWords, words_);
      for (std::int64_t j = 0; j < columns; ++j)
        for (std::int64_t w = w0; w < w1; ++w) {
          const std::int64_t left = row_bytes - 4 * w;
          std::uint32_t word = 0;
          std::memcpy(&word, b + byte_at(n0 + j, 4 * w), left < 4 ? static_cast<std::size_t>(left) : 4);
          std::memcpy(panel + (w * kPackedBColumns + j) * 4, &word, 4);
        }
    }
  }

  std::int64_t byte_at(std::int64_t n, std::int64_t byte_k) const noexcept {
    if (!preshuffled_) return n * plain_.ldb * size_ + byte_k;
    const std::int64_t in_chunk = byte_k % kPreshuffleChunkBytes;
    return preshuffled_chunk(n, byte_k - in_chunk, plain_.k * size_) + in_chunk;
  }

  template <std::int64_t SIZE>
  void by_row(const unsigned char* b, std::int64_t n0, std::int64_t columns, unsigned char* panel) const noexcept {
    constexpr std::int64_t e = 4 / SIZE;
    if (plain_.k % e != 0) std::memset(panel + (words_ - 1) * kPackedBColumns * 4, 0, kPackedBColumns * 4);
    for (std::int64_t k = 0; k < plain_.k; ++k) {
      const unsigned char* from = b + (k * plain_.ldb + n0) * SIZE;
      unsigned char* to = panel + k / e * kPackedBColumns * 4 + k % e * SIZE;
      for (std::int64_t j = 0; j < columns; ++j) std::memcpy(to + j * 4, from + j * SIZE, SIZE);
    }
  }

  const PlainB& plain_;
  const std::int64_t size_, words_;
  const bool by_row_, preshuffled_;
};

// With what is left out: rows and entries without gaps.
PlainB completed(const Signature& s, PlainB plain) noexcept {
  const bool by_row = b_is_row_major(s.layout) && !s.preshuffle_b;
  if (plain.ldb == 0 || s.preshuffle_b) plain.ldb = by_row ? plain.n : plain.k;
  // where this wraps, check_plain() refuses the ldb
  if (plain.batch_stride == 0 && __builtin_mul_overflow(plain.ldb, by_row ? plain.k : plain.n, &plain.batch_stride))
    plain.batch_stride = 0;
  return plain;
}

Status check_plain(const Signature& s, const PlainB& plain, std::uint64_t wanted, std::uint64_t bytes) noexcept {
  const auto refuse = [](const char* text, std::int64_t got, std::int64_t least) {
    return Status::error(StatusCode::invalid_argument, text, static_cast<long long>(got),
                         static_cast<long long>(least));
  };
  if (bytes < wanted)
    return refuse("a packed B of %lld bytes needs %lld", static_cast<std::int64_t>(bytes),
                  static_cast<std::int64_t>(wanted));
  const bool by_row = b_is_row_major(s.layout) && !s.preshuffle_b;
  const std::int64_t length = by_row ? plain.n : plain.k, lines = by_row ? plain.k : plain.n;
  if (length == 0 || lines == 0 || plain.batch == 0) return Status::success();
  if (plain.b == nullptr) return Status::error(StatusCode::invalid_argument, "B is null");
  if (s.preshuffle_b && !can_preshuffle(plain.n, bytes_of(s.b, plain.k)))
    return refuse("preshuffled B needs n=%lld to be a multiple of 16 and k=%lld to span multiples of 32 bytes", plain.n,
                  plain.k);
  if (plain.ldb < length) return refuse("ldb=%lld is less than the row length %lld", plain.ldb, length);
  std::int64_t one = 0;
  if (__builtin_mul_overflow(lines, plain.ldb, &one) || one > kMostBytes)
    return refuse("ldb=%lld of %lld rows is beyond 2^60 elements", plain.ldb, lines);
  const std::int64_t entry = (lines - 1) * plain.ldb + length;
  if (plain.batch > 1 && plain.batch_stride < entry)
    return refuse("batch_stride=%lld of B is less than an entry's %lld elements", plain.batch_stride, entry);
  return Status::success();
}

}  // namespace

Result<std::uint64_t> packed_b_bytes(const Signature& signature, std::int64_t n, std::int64_t k,
                                     std::int64_t batch) noexcept {
  if (const Status s = check_type(signature); !s.ok()) return s;
  return bytes_of_packed(signature.b, n, k, batch);
}

Status pack_b(const Signature& signature, const PlainB& given, void* packed, std::uint64_t bytes) noexcept {
  const PlainB plain = completed(signature, given);
  const Result<std::uint64_t> wanted = packed_b_bytes(signature, plain.n, plain.k, plain.batch);
  if (!wanted) return wanted.status();
  if (packed == nullptr) return Status::error(StatusCode::invalid_argument, "packed is null");
  if (const Status s = check_plain(signature, plain, *wanted, bytes); !s.ok()) return s;
  auto* out = static_cast<unsigned char*>(packed);
  const PackedBHeader header = header_of(signature.b, plain.n, plain.k, plain.batch);
  std::memcpy(out, &header, sizeof header);
  const PanelPacker packer(signature, plain);
  if (packer.words() == 0) return Status::success();
  const std::int64_t panels = (plain.n + kPackedBColumns - 1) / kPackedBColumns;
  host::parallel_for(panels * plain.batch, host::thread_count(), [&](std::int64_t i, int) {
    const std::int64_t entry = i / panels, panel = i % panels;
    const auto* b = static_cast<const unsigned char*>(plain.b) + bytes_of(signature.b, entry * plain.batch_stride);
    packer.pack(b, panel * kPackedBColumns, out + sizeof header + i * packer.words() * kPackedBColumns * 4);
  });
  return Status::success();
}

Status check_packed_b(DType b, std::int64_t n, std::int64_t k, std::int64_t batch, const void* packed) noexcept {
  const auto refuse = [](const char* text) { return Status::error(StatusCode::invalid_argument, "%s", text); };
  if (packed == nullptr) return refuse("the packed B is null");
  PackedBHeader header;
  std::memcpy(&header, packed, sizeof header);
  if (std::memcmp(header.magic, kPackedBMagic, sizeof header.magic) != 0)
    return refuse("B is no packed B: make it with pack_b, or leave b_prepacked unset");
  if (header.layout != kPackedBLayout)
    return Status::error(StatusCode::invalid_argument,
                         "the packed B has layout %u, this library reads %u: pack it anew", header.layout,
                         kPackedBLayout);
  if (header.header_bytes != sizeof header || header.reserved != 0 || header.check != check_sum(header))
    return refuse("the header of the packed B is damaged: pack it anew");
  const PackedBHeader wanted = header_of(b, n, k, batch);
  if (std::memcmp(header.dtype, wanted.dtype, sizeof header.dtype) != 0)
    return Status::error(StatusCode::invalid_argument, "the packed B is of type %.8s, and %s is wanted", header.dtype,
                         name(b).data());
  if (header.n == n && header.k == k && header.batch == batch) return Status::success();
  return Status::error(
      StatusCode::invalid_argument, "the packed B has N=%lld K=%lld batch=%lld, and N=%lld K=%lld batch=%lld is wanted",
      static_cast<long long>(header.n), static_cast<long long>(header.k), static_cast<long long>(header.batch),
      static_cast<long long>(n), static_cast<long long>(k), static_cast<long long>(batch));
}

}  // namespace v1
}  // namespace ckgen
