#include "elf.hpp"

#include <algorithm>

namespace ckgen::emu {
namespace {

constexpr std::uint32_t kSymbolTable = 2, kRela = 4, kNote = 7, kRel = 9, kDynamicSymbols = 11;
constexpr std::uint32_t kLoad = 1;
constexpr std::uint64_t kMostName = 1U << 16;  // mangled names of templates have thousands

struct HeaderFields {
  std::uint8_t ident[16];
  std::uint16_t type, machine;
  std::uint32_t version;
  std::uint64_t entry, segments, sections;
  std::uint32_t flags;
  std::uint16_t size, segment_size, segment_count, section_size, section_count, names;
};
static_assert(sizeof(HeaderFields) == 64);

struct SectionFields {
  std::uint32_t name, type;
  std::uint64_t flags, address, offset, size;
  std::uint32_t link, info;
  std::uint64_t alignment, entry_size;
};
static_assert(sizeof(SectionFields) == 64);

struct SegmentFields {
  std::uint32_t type, flags;
  std::uint64_t offset, address, physical, file_size, memory_size, alignment;
};
static_assert(sizeof(SegmentFields) == 56);

struct SymbolFields {
  std::uint32_t name;
  std::uint8_t info, other;
  std::uint16_t section;
  std::uint64_t value, size;
};
static_assert(sizeof(SymbolFields) == 24);

struct NoteFields {
  std::uint32_t owner_size, size, type;
};

std::uint64_t padded(std::uint64_t size) {
  return (size + 3) & ~std::uint64_t{3};
}

std::string_view text_at(Bytes strings, std::uint32_t offset) {
  const Bytes rest = strings.subspan(std::min<std::size_t>(offset, strings.size()));
  const auto end = std::find(rest.begin(), rest.end(), 0);
  if (end == rest.end()) throw Malformed("a symbol's name lies outside of its string table");
  const auto length = static_cast<std::size_t>(end - rest.begin());
  if (length > kMostName) throw Malformed("a symbol's name has more than " + std::to_string(kMostName) + " bytes");
  return {reinterpret_cast<const char*>(rest.data()), length};
}

}  // namespace

Elf::Elf(Bytes file) : bytes(file) {
  const auto header = fields_at<HeaderFields>(file, 0, "the ELF header");
  if (std::memcmp(header.ident,
                  "\x7f"
                  "ELF\x02\x01",
                  6) != 0)
    throw Malformed("not a little-endian 64-bit ELF file");
  os_abi = header.ident[7];
  type = header.type;
  machine = header.machine;
  flags = header.flags;
  if (header.section_count != 0 && header.section_size != sizeof(SectionFields))
    throw Malformed("section headers of " + std::to_string(header.section_size) + " bytes");
  if (header.segment_count != 0 && header.segment_size != sizeof(SegmentFields))
    throw Malformed("program headers of " + std::to_string(header.segment_size) + " bytes");
  const Bytes table = span_of(file, header.sections, std::uint64_t{header.section_count} * sizeof(SectionFields),
                              "the table of sections");
  std::uint64_t held = 0;
  for (std::size_t i = 0; i < header.section_count; ++i) {
    const auto fields = fields_at<SectionFields>(table, i * sizeof(SectionFields), "a section header");
    const Section section{fields.type, fields.flags, fields.address, fields.offset, fields.size, fields.link};
    if (section.in_file()) {
      span_of(file, section.offset, section.size, "section " + std::to_string(i));
      held += section.size;
    }
    if ((section.type == kRela || section.type == kRel) && section.size != 0)
      throw Malformed("it has relocations, which no loader of ours applies");
    sections.push_back(section);
  }
  if (held > file.size())  // tables would be read as often as sections name them
    throw Malformed("sections overlap: " + std::to_string(held) + " bytes in a file of " + std::to_string(file.size()));
  const Bytes parts = span_of(file, header.segments, std::uint64_t{header.segment_count} * sizeof(SegmentFields),
                              "the table of segments");
  for (std::size_t i = 0; i < header.segment_count; ++i) {
    const auto fields = fields_at<SegmentFields>(parts, i * sizeof(SegmentFields), "a program header");
    if (fields.type != kLoad) continue;
    span_of(file, fields.offset, fields.file_size, "segment " + std::to_string(i));
    if (fields.file_size > fields.memory_size)
      throw Malformed("segment " + std::to_string(i) + " is larger in the file");
    loaded.push_back({fields.offset, fields.address, fields.file_size, fields.memory_size});
  }
}

std::vector<Symbol> Elf::symbols() const {
  std::vector<Symbol> found;
  for (const std::uint32_t kind : {kDynamicSymbols, kSymbolTable}) {
    for (const Section& section : sections) {
      if (section.type != kind) continue;
      if (section.link >= sections.size() || !sections[section.link].in_file())
        throw Malformed("a symbol table has no string table");
      const Section& named = sections[section.link];
      const Bytes strings = span_of(bytes, named.offset, named.size, "a string table");
      const Bytes table = span_of(bytes, section.offset, section.size, "a symbol table");
      for (std::size_t at = 0; at + sizeof(SymbolFields) <= table.size(); at += sizeof(SymbolFields)) {
        const auto fields = fields_at<SymbolFields>(table, at, "a symbol");
        if (fields.section == 0) continue;
        const auto type = static_cast<std::uint8_t>(fields.info & 15U);
        found.push_back({text_at(strings, fields.name), type, fields.value, fields.size});
      }
    }
  }
  return found;
}

Bytes Elf::note(std::string_view owner, std::uint32_t wanted) const {
  for (const Section& section : sections) {
    if (section.type != kNote) continue;
    const Bytes notes = span_of(bytes, section.offset, section.size, "a section of notes");
    for (std::uint64_t at = 0; at < notes.size();) {
      const auto fields = fields_at<NoteFields>(notes, at, "a note");
      const Bytes name = span_of(notes, at + sizeof fields, fields.owner_size, "a note's owner");
      const std::uint64_t body = at + sizeof fields + padded(fields.owner_size);
      const Bytes content = span_of(notes, body, fields.size, "a note");
      std::string_view text(reinterpret_cast<const char*>(name.data()), name.size());
      text = text.substr(0, text.find('\0'));
      if (text == owner && fields.type == wanted) return content;
      at = body + padded(fields.size);
    }
  }
  return {};
}

const Section* Elf::section_at(std::uint64_t address, std::uint64_t count) const noexcept {
  for (const Section& section : sections) {
    if (section.holds(address, count)) return &section;
  }
  return nullptr;
}

}  // namespace ckgen::emu
