#include "kernel.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "elf.hpp"
#include "metadata.hpp"

namespace ckgen::emu {
namespace {

constexpr std::uint16_t kAmdGpu = 224, kSharedObject = 3;
constexpr std::uint8_t kHsaAbi = 64;
constexpr std::uint32_t kMetadataNote = 32;
constexpr std::string_view kSuffix = ".kd";
constexpr std::uint64_t kLargestImage = 1 << 26;  // production objects have some 100 KB

constexpr std::uint32_t kMachine = 0xff;  // EF_AMDGPU_MACH of e_flags

struct Descriptor {
  std::uint32_t lds, scratch, kernarg, reserved;
  std::int64_t entry;  // from the descriptor's own address
  std::uint8_t unused[20];
  std::uint32_t rsrc3, rsrc1, rsrc2;
  std::uint16_t properties, preload;
  std::uint32_t unused_end;
};
static_assert(sizeof(Descriptor) == 64);

/// The last part of a target such as amdgcn-amd-amdhsa--gfx942:xnack-.
std::string processor_of(std::string_view target) {
  const std::string_view said = target.substr(target.rfind('-', target.find(':')) + 1);
  return std::string(said.substr(0, said.find(':')));
}

std::vector<std::uint8_t> image_of(const Elf& elf) {
  std::uint64_t end = 0;
  for (const Segment& segment : elf.loaded) {
    if (segment.address > kLargestImage || segment.memory_size > kLargestImage - segment.address)
      throw Malformed("a segment ends above " + std::to_string(kLargestImage) + " bytes");
    end = std::max(end, segment.address + segment.memory_size);
  }
  std::vector<std::uint8_t> image(static_cast<std::size_t>(end));
  for (const Segment& segment : elf.loaded) {
    const Bytes content =
        elf.bytes.subspan(static_cast<std::size_t>(segment.offset), static_cast<std::size_t>(segment.file_size));
    std::copy(content.begin(), content.end(), image.begin() + static_cast<std::ptrdiff_t>(segment.address));
  }
  return image;
}

Kernel kernel_of(const Elf& elf, const Symbol& symbol, std::uint64_t image_bytes) {
  Kernel kernel;
  kernel.name = symbol.name.substr(0, symbol.name.size() - kSuffix.size());
  const Section* place = elf.section_at(symbol.address, sizeof(Descriptor));
  if (place == nullptr) throw Malformed("kernel " + kernel.name + ": its descriptor is in no section");
  const auto fields =
      fields_at<Descriptor>(elf.bytes, symbol.address - place->address + place->offset, "a kernel descriptor");
  const std::uint64_t entry = symbol.address + static_cast<std::uint64_t>(fields.entry);
  const Section* text = elf.section_at(entry, sizeof(std::uint32_t));
  if (text == nullptr || !text->executable() || entry % 4 != 0)
    throw Malformed("kernel " + kernel.name + ": its entry is in no executable section");
  if (text->address > image_bytes || text->size > image_bytes - text->address)
    throw Malformed("kernel " + kernel.name + ": its text is in no loaded segment");
  kernel.lds_bytes = fields.lds;
  kernel.scratch_bytes = fields.scratch;
  kernel.kernarg_bytes = fields.kernarg;
  kernel.text_start = static_cast<std::uint32_t>(text->address);
  kernel.entry = static_cast<std::uint32_t>(entry);
  kernel.rsrc1 = fields.rsrc1;
  kernel.rsrc2 = fields.rsrc2;
  kernel.properties = fields.properties;
  // GRANULATED_WORKITEM_VGPR_COUNT counts eights, ACCUM_OFFSET fours, each less one (gfx90a and later).
  kernel.vgprs = std::min(512U, 8 * ((fields.rsrc1 & 63) + 1));
  kernel.accum_offset = 4 * ((fields.rsrc3 & 63) + 1);
  const Bytes content = span_of(elf.bytes, text->offset, text->size, "the text");
  kernel.text.assign(content.begin(), content.end());
  return kernel;
}

void add_metadata(Kernel& kernel, const KernelMetadata& said) {
  if (kernel.kernarg_bytes == 0) kernel.kernarg_bytes = said.kernarg_bytes;
  kernel.max_workgroup = said.max_workgroup;
  for (const Argument& argument : said.arguments)
    (argument.kind.starts_with("hidden_") ? kernel.hidden : kernel.arguments).push_back(argument);
}

CodeObject read(Bytes bytes) {
  const Elf elf(bytes);
  if (elf.machine != kAmdGpu || elf.os_abi != kHsaAbi) throw Malformed("not an AMDGPU code object");
  if (elf.type != kSharedObject) throw Malformed("not a linked code object");
  const Bytes note = elf.note("AMDGPU", kMetadataNote);
  if (note.empty()) throw Malformed("no AMDGPU metadata note: code object v2 and older are not read");
  const Metadata metadata = read_metadata(note);
  CodeObject object;
  object.processor = processor_of(metadata.target);
  object.machine = elf.flags & kMachine;
  object.image = image_of(elf);
  std::map<std::string_view, Symbol> descriptors;
  for (const Symbol& symbol : elf.symbols()) {
    if (symbol.name.ends_with(kSuffix) && symbol.name.size() > kSuffix.size()) descriptors.emplace(symbol.name, symbol);
  }
  for (const auto& [name, symbol] : descriptors) object.kernels.push_back(kernel_of(elf, symbol, object.image.size()));
  for (const KernelMetadata& said : metadata.kernels) {
    const auto named = std::find_if(object.kernels.begin(), object.kernels.end(), [&](const Kernel& kernel) {
      return said.symbol.size() == kernel.name.size() + kSuffix.size() && said.symbol.starts_with(kernel.name) &&
             said.symbol.ends_with(kSuffix);
    });
    if (named == object.kernels.end()) throw Malformed("kernel " + said.symbol + ": no such symbol");
    add_metadata(*named, said);
  }
  return object;
}

}  // namespace

CodeObject read_code_object(std::span<const std::uint8_t> bytes, std::string& error) {
  error.clear();
  try {
    return read(bytes);
  } catch (const Malformed& found) {
    error = found.what();
  }
  return {};
}

}  // namespace ckgen::emu
