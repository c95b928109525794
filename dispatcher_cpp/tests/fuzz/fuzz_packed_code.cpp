// Compressed code objects: what is unpacked is what was packed, whatever bits were flipped on the way.
#include <ckgen/device_code.hpp>

#include "fuzz.hpp"
#include "src/gpu/unpack.hpp"
#include "tiny_device.hpp"

namespace fuzz::fuzz_packed_code {
namespace {

/// The input is what is packed, where `size` is what a library says of it.
void check(const std::vector<unsigned char>& packed, std::size_t size, const std::string* meant) {
  std::unique_ptr<unsigned char[]> out;
  const ckgen::CodeObject object{ckgen::Arch::gfx942, packed.data(), packed.size(), size};
  const ckgen::Status status = ckgen::detail::unpack(object, out);
  expect(status.ok() == (out != nullptr), "bytes come where none are refused");
  expect(status.ok() || status.message[0] != '\0', "refused bytes have a reason");
  if (meant == nullptr || !status.ok()) return;
  expect(std::string_view(reinterpret_cast<const char*>(out.get()), size) == *meant, "damage is seen");
}

void run(Bytes bytes) {
  static const std::string plain = tiny::image(ckgen::Arch::gfx942, {"tiny_set"});
  static const std::vector<unsigned char> packed = tiny::compressed(plain);
  check({bytes.begin(), bytes.end()}, plain.size(), nullptr);
  Draw draw(bytes);
  check({bytes.begin(), bytes.end()}, draw.raw<std::uint16_t>(), nullptr);
  std::vector<unsigned char> damaged = packed;
  do {  // at least one bit
    const auto at = draw.raw<std::uint16_t>() % damaged.size();
    damaged[at] = static_cast<unsigned char>(damaged[at] ^ 1U << (draw.byte() & 7U));
  } while (draw.coin() && !draw.done());
  check(damaged, plain.size(), &plain);
  damaged.resize(draw.raw<std::uint16_t>() % (damaged.size() + 1));
  check(damaged, plain.size(), &plain);
}

std::vector<std::string> seeds() {
  const std::vector<unsigned char> packed = tiny::compressed(tiny::image(ckgen::Arch::gfx942, {"tiny_set", "x"}));
  return {std::string(packed.begin(), packed.end()), std::string(8, '\0')};
}

}  // namespace

const Target packed_code{"packed_code", run, seeds};

}  // namespace fuzz::fuzz_packed_code
