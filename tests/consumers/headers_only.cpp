#include <ckgen/codecs.hpp>
#include <ckgen/describe_table.hpp>

#include <cstdint>

static_assert(ckgen::decode(ckgen::DType::bf16, ckgen::encode(ckgen::DType::bf16, 1.5f)) == 1.5f);

/// The compiler refuses to read outside of an array: sizes in every bucket, and beyond the ladder.
constexpr ckgen::Rung kTwo[] = {ckgen::describe::rung(8, 0), ckgen::describe::rung(40, 1)};
constexpr bool every_size_finds_its_rung() {
  const ckgen::Group group = ckgen::describe::ladder<kTwo>(1024, 2048);
  for (std::uint64_t m = 0; m < 200; ++m)
    if (ckgen::rung_at_or_above(group, m) != (m <= 8 ? 0U : m <= 40 ? 1U : 2U)) return false;
  return true;
}
static_assert(every_size_finds_its_rung());

int main() {}
