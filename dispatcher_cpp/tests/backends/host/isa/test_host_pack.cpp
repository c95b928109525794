// Packing of operands into panels, on every level, element by element: every type, order in memory, width and length,
// from memory of exactly the operand's size into memory of exactly the panel's.
#include "backends/host/gemm/pack_source.hpp"
#include "backends/host/host_fixture.hpp"
#include "backends/host/host_isa_tables.hpp"
#include "guarded_memory.hpp"

#include <cmath>
#include <functional>
#include <random>

namespace host_test {
namespace test_host_pack {

using host::PackKind;

enum class Order { along_k, along_p, preshuffled };

/// P x K elements of random bytes in memory that ends with them.
class Operand {
 public:
  Operand(DType of, Order in, std::int64_t p, std::int64_t k, std::mt19937& random)
      : type(of),
        order(in),
        ld(in == Order::along_p   ? p + 2
           : in == Order::along_k ? k + 2
                                  : k),
        count((in == Order::along_p ? k : p) * ld),
        memory_(static_cast<std::size_t>(bytes_of(of, count))) {
    for (std::int64_t i = 0; i < bytes_of(type, count); ++i) base()[i] = static_cast<unsigned char>(random());
  }
  unsigned char* base() const { return reinterpret_cast<unsigned char*>(memory_.get()); }
  std::int64_t place(std::int64_t p, std::int64_t k) const {
    if (order == Order::along_k) return p * ld + k;
    if (order == Order::along_p) return k * ld + p;
    // Blocks of 16 rows: chunk after chunk of 16 bytes, each of all rows.
    const std::int64_t chunk = 16 * 8 / bits(type);
    return p / 16 * 16 * ld + (k / chunk * 16 + p % 16) * chunk + k % chunk;
  }
  float value(std::int64_t p, std::int64_t k) const {
    const std::int64_t i = place(p, k);
    return type == DType::int4 ? static_cast<float>(decode_int4(nibble(base()[i / 2], static_cast<int>(i % 2))))
                               : read(type, base(), i);
  }

  DType type;
  Order order;
  std::int64_t ld, count;

 private:
  GuardedMemory memory_;
};

std::uint32_t bits_of(float x) {
  std::uint32_t b = 0;
  std::memcpy(&b, &x, 4);
  return std::isnan(x) ? 0x7fc00000U : b;
}

/// A word of four bytes, of which those before `length` are there; of A each has `added`, those that are missing too.
std::uint32_t word_of_bytes(const std::function<float(std::int64_t)>& value, std::int64_t w, std::int64_t length,
                            std::uint32_t added) {
  std::uint32_t all = 0;
  for (std::int64_t e = 0; e < 4 && 4 * w + e < length; ++e)
    all |= std::uint32_t{static_cast<unsigned char>(static_cast<int>(value(4 * w + e)))} << (8 * e);
  return all ^ added;
}

/// What word w of a panel's row must be; NaNs of any payload are one.
std::uint32_t word(PackKind kind, const std::function<float(std::int64_t)>& value, std::int64_t w,
                   std::int64_t length) {
  if (kind == PackKind::f32) return bits_of(value(w));
  std::uint32_t both = 0;
  for (std::int64_t e = 0; e < 2 && 2 * w + e < length; ++e) {
    const float x = value(2 * w + e);
    const std::uint32_t half =
        kind == PackKind::i16 ? static_cast<std::uint16_t>(static_cast<std::int16_t>(x)) : bits_of(x) >> 16;
    both |= half << (16 * e);
  }
  return both;
}

std::uint32_t same_nans(PackKind kind, std::uint32_t w) {
  if (kind == PackKind::i16 || kind == PackKind::i8) return w;
  const auto is_nan = [](std::uint32_t half) { return (half & 0x7fffU) > 0x7f80U; };
  if (kind == PackKind::f32) return (w & 0x7fffffffU) > 0x7f800000U ? 0x7fc00000U : w;
  return (is_nan(w & 0xffffU) ? 0x7fc0U : w & 0xffffU) | (is_nan(w >> 16) ? 0x7fc00000U : w & 0xffff0000U);
}

struct Piece {
  std::int64_t p0, count, k0, length;
  int width;
};

void expect_packed(const host::IsaTable& isa, const host::PackSource& source, const Piece& x,
                   const std::function<float(std::int64_t, std::int64_t)>& value) {
  const int e = host::elements_per_word(source.kind);
  const std::int64_t words = (x.length + e - 1) / e;
  constexpr std::uint32_t kUntouched = 0xdeadbeefU;
  std::vector<std::uint32_t> panel(static_cast<std::size_t>(words * x.width + 16), kUntouched);
  isa.pack(source, x.p0, x.count, x.width, x.k0, x.length, panel.data());
  for (std::int64_t w = 0; w < words; ++w)
    for (std::int64_t r = 0; r < x.width; ++r) {
      const auto of_row = [&](std::int64_t k) { return value(x.p0 + r, x.k0 + k); };
      const std::int64_t length = r < x.count ? x.length : 0;
      const std::uint32_t added = source.is_a && &isa == &host::kIsaV4Bf16 ? 0x80808080U : 0U;
      const std::uint32_t wanted = source.kind == PackKind::i8 ? word_of_bytes(of_row, w, length, added)
                                   : r < x.count               ? word(source.kind, of_row, w, length)
                                                               : 0U;
      ASSERT_EQ(same_nans(source.kind, panel[static_cast<std::size_t>(w * x.width + r)]), wanted)
          << "word " << w << " of row " << r << " of " << x.count << " in " << x.width << " from " << x.k0 << " + "
          << x.length;
    }
  for (std::size_t i = 0; i < 16; ++i) ASSERT_EQ(panel[panel.size() - 1 - i], kUntouched) << "behind the panel";
}

constexpr int kWidths[] = {1, 2, 4, 6, 8, 12, 14, 16, 24, 32, 48, 64};
constexpr std::int64_t kLengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 131};

Piece piece(std::mt19937& random, const Operand& o, std::int64_t p, std::int64_t k) {
  Piece x{};
  x.width = kWidths[random() % std::size(kWidths)];
  x.length = std::min(kLengths[random() % std::size(kLengths)], k);
  x.k0 = random() % 2 == 0 ? k - x.length : static_cast<std::int64_t>(random()) % (k - x.length + 1);
  if (bits(o.type) == 4 && o.order != Order::along_k) x.k0 = x.k0 / 2 * 2;
  x.count = random() % 3 == 0 ? 1 + static_cast<std::int64_t>(random()) % x.width : x.width;
  x.p0 = random() % 2 == 0 ? p - x.count : static_cast<std::int64_t>(random()) % (p - x.count + 1);
  return x;
}

TEST(HostPack, EveryTypeOrderWidthAndLength) {
  using enum DType;
  std::mt19937 random(1);
  for (const host::IsaTable* isa : isa_tables())
    for (const DType type : {fp32, fp16, bf16, fp8_ocp, fp8_fnuz, bf8_ocp, bf8_fnuz, fp4, int4, int8})
      for (const Order order : {Order::along_k, Order::along_p, Order::preshuffled})
        for (const PackKind kind : {PackKind::f32, PackKind::i16, PackKind::bf16, PackKind::i8}) {
          if ((kind == PackKind::i16 || kind == PackKind::i8) != (type == int8)) continue;
          if (kind == PackKind::i8 && isa == &host::kIsaV4) continue;
          const bool has_bf16 = type == bf16 || bits(type) == 8 || (type == fp4 && order != Order::along_p);
          if (kind == PackKind::bf16 && (isa != &host::kIsaV4Bf16 || !has_bf16)) continue;
          if (type == int4 && order != Order::along_k) continue;
          SCOPED_TRACE(testing::Message()
                       << name(type) << " order " << static_cast<int>(order) << " kind " << static_cast<int>(kind));
          const std::int64_t p = 80;
          for (const std::int64_t depth : {186, 190}) {  // rows of any bytes, and of whole cache lines
            const std::int64_t k = order == Order::preshuffled ? 192 : depth;
            const Operand o(type, order, p, k, random);
            host::PackSource source = host::make_pack_source(kind, type, o.base(), o.ld, order != Order::along_p,
                                                             order == Order::preshuffled);
            for (int i = 0; i < 20; ++i) {
              source.is_a = i % 2 == 0 && order != Order::preshuffled;
              ASSERT_NO_FATAL_FAILURE(
                  expect_packed(*isa, source, piece(random, o, p, k),
                                [&](std::int64_t row, std::int64_t at) { return o.value(row, at); }));
            }
          }
        }
}

TEST(HostPack, RowsMayBeListed) {
  std::mt19937 random(2);
  std::vector<std::int32_t> rows;
  for (int i = 0; i < 80; ++i) rows.push_back(i * 37 % 80);
  for (const host::IsaTable* isa : isa_tables())
    for (const DType type : {DType::fp32, DType::bf16, DType::fp8_ocp}) {
      const Operand o(type, Order::along_k, 80, 130, random);
      host::PackSource source = host::make_pack_source(PackKind::f32, type, o.base(), o.ld, true, false);
      source.rows = rows.data();
      for (int i = 0; i < 20; ++i)
        ASSERT_NO_FATAL_FAILURE(expect_packed(
            *isa, source, piece(random, o, 80, 130),
            [&](std::int64_t row, std::int64_t at) { return o.value(rows[static_cast<std::size_t>(row)], at); }));
    }
}

TEST(HostPack, TwoTensorsAreCombinedAndRoundedToTheirType) {
  std::mt19937 random(3);
  for (const host::IsaTable* isa : isa_tables())
    for (const DType type : {DType::fp32, DType::fp16, DType::bf16})
      for (const Order order : {Order::along_k, Order::along_p, Order::preshuffled})
        for (const OperandOp op : {OperandOp::add, OperandOp::mul}) {
          const Operand a(type, order, 80, 192, random), b(type, order, 80, 192, random);
          host::PackSource source = host::make_pack_source(PackKind::f32, type, a.base(), a.ld, order != Order::along_p,
                                                           order == Order::preshuffled);
          source.op = op, source.second = b.base();
          for (int i = 0; i < 10; ++i)
            ASSERT_NO_FATAL_FAILURE(
                expect_packed(*isa, source, piece(random, a, 80, 192), [&](std::int64_t row, std::int64_t at) {
                  const float x = a.value(row, at), y = b.value(row, at), z = op == OperandOp::add ? x + y : x * y;
                  return type == DType::fp32 ? z : decode(type, encode(type, z));
                }));
        }
}

}  // namespace test_host_pack
}  // namespace host_test
