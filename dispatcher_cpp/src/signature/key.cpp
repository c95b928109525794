#include "src/signature/key.hpp"

#include <type_traits>

namespace ckgen::inline v1::detail {
namespace {

static_assert(kNoScaleBlock == (1 << key_bits::scale_block_k) - 1 &&
              kNoScaleBlock == (1 << key_bits::scale_block_n) - 1);

/// Takes members out of a key, as key_bits::visit() shows them.
struct KeyReader {
  std::uint64_t key;

  std::uint64_t field(int at, int bits) const noexcept { return key >> at & ((std::uint64_t{1} << bits) - 1); }

  template <class Member>
  void operator()(Member& member, int at, int bits) const noexcept {
    if constexpr (std::is_same_v<Member, bool>) {
      member = field(at, bits) != 0;
    } else {
      member = static_cast<Member>(field(at, bits));
    }
  }
  /// 0, which is no size, where there is no such code.
  template <int N>
  void operator()(std::uint8_t& size, int at, int bits, const std::uint8_t (&sizes)[N]) const noexcept {
    const std::uint64_t code = field(at, bits);
    size = code < N ? sizes[code] : std::uint8_t{0};
  }
};

}  // namespace

Signature unpack(std::uint64_t packed) noexcept {
  Signature s;
  key_bits::visit(s, KeyReader{packed});
  if (s.pack() != packed) s.op = static_cast<Op>(0xff);  // bits that are no field's
  return s;
}

}  // namespace ckgen::inline v1::detail
