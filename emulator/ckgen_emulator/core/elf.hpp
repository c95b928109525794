// Little-endian ELF64, as far as code objects use it: every offset is checked before it is followed.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ckgen::emu {

using Bytes = std::span<const std::uint8_t>;

/// What is wrong with a file, and where.
class Malformed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `count` bytes at `offset`; Malformed if they are not all inside of `bytes`.
inline Bytes span_of(Bytes bytes, std::uint64_t offset, std::uint64_t count, std::string_view what) {
  if (offset > bytes.size() || count > bytes.size() - offset)
    throw Malformed(std::string(what) + " of " + std::to_string(count) + " bytes at byte " + std::to_string(offset) +
                    " lies beyond the end (" + std::to_string(bytes.size()) + " bytes)");
  return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(count));
}

/// The fields at `offset`, whatever its alignment.
template <class Fields>
Fields fields_at(Bytes bytes, std::uint64_t offset, std::string_view what) {
  static_assert(std::is_trivially_copyable_v<Fields>);
  Fields fields;
  std::memcpy(&fields, span_of(bytes, offset, sizeof fields, what).data(), sizeof fields);
  return fields;
}

struct Section {
  std::uint32_t type = 0;
  std::uint64_t flags = 0, address = 0, offset = 0, size = 0;
  std::uint32_t link = 0;

  bool executable() const noexcept { return (flags & 4) != 0; }
  /// Whether `count` bytes at that address are in the file, in this section.
  bool holds(std::uint64_t at, std::uint64_t count) const noexcept {
    return in_file() && address != 0 && at >= address && at - address <= size && size - (at - address) >= count;
  }
  bool in_file() const noexcept { return type != 0 && type != 8; }
};

struct Segment {
  std::uint64_t offset = 0, address = 0, file_size = 0, memory_size = 0;
};

struct Symbol {
  std::string_view name;
  std::uint8_t type = 0;
  std::uint64_t address = 0, size = 0;
};

/// Views into `bytes`, which must outlive it.
struct Elf {
  Bytes bytes;
  std::uint8_t os_abi = 0;
  std::uint16_t type = 0, machine = 0;
  std::uint32_t flags = 0;
  std::vector<Section> sections;
  std::vector<Segment> loaded;

  explicit Elf(Bytes file);

  /// The defined symbols of every table, the dynamic ones first.
  std::vector<Symbol> symbols() const;
  /// The first note of that owner and type; empty if there is none.
  Bytes note(std::string_view owner, std::uint32_t type) const;
  /// Null if no section has those bytes in the file.
  const Section* section_at(std::uint64_t address, std::uint64_t count) const noexcept;
};

}  // namespace ckgen::emu
