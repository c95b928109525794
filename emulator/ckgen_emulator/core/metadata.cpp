#include "metadata.hpp"

#include <string_view>
#include <utility>

namespace ckgen::emu {
namespace {

constexpr unsigned kDeepest = 16;
constexpr std::uint64_t kLargest = 1 << 24;  // bytes, work-items: far above what any kernel says

enum class Kind : std::uint8_t { nil, boolean, number, text, list, map };

struct Value {
  Kind kind = Kind::nil;
  std::uint64_t number = 0;  // of negative ones the two's complement
  std::string_view text;
  std::vector<std::string_view> keys;  // of a map, one for each item
  std::vector<Value> items;            // of a list or a map
};

/// MessagePack (github.com/msgpack/msgpack, spec.md): big-endian, the type in the first byte.
class Reader {
 public:
  explicit Reader(Bytes bytes) noexcept : bytes_(bytes) {}

  bool done() const noexcept { return bytes_.empty(); }

  Value value(unsigned depth = 0) {
    if (depth > kDeepest) throw Malformed("metadata nested deeper than " + std::to_string(kDeepest));
    const std::uint8_t tag = take(1)[0];
    if (tag < 0x80) return number(tag);
    if (tag < 0x90) return map(tag & 15U, depth);
    if (tag < 0xa0) return list(tag & 15U, depth);
    if (tag < 0xc0) return text(tag & 31U);
    if (tag >= 0xe0) return number(tag | ~std::uint64_t{0xff});
    switch (tag) {
      case 0xc0: return {};
      case 0xc2:
      case 0xc3: return {Kind::boolean, tag & 1U, {}, {}, {}};
      case 0xcc: return number(integer(1));
      case 0xcd: return number(integer(2));
      case 0xce: return number(integer(4));
      case 0xcf: return number(integer(8));
      case 0xd0: return number(extended(1));
      case 0xd1: return number(extended(2));
      case 0xd2: return number(extended(4));
      case 0xd3: return number(integer(8));
      case 0xd9: return text(integer(1));
      case 0xda: return text(integer(2));
      case 0xdb: return text(integer(4));
      case 0xdc: return list(integer(2), depth);
      case 0xdd: return list(integer(4), depth);
      case 0xde: return map(integer(2), depth);
      case 0xdf: return map(integer(4), depth);
      default: throw Malformed("a MessagePack type that metadata does not use: " + std::to_string(tag));
    }
  }

 private:
  Bytes take(std::uint64_t count) {
    const Bytes taken = span_of(bytes_, 0, count, "a value of the metadata");
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }

  std::uint64_t integer(unsigned count) {
    std::uint64_t found = 0;
    for (const std::uint8_t byte : take(count)) found = found << 8 | byte;
    return found;
  }

  std::uint64_t extended(unsigned count) {
    const unsigned unused = 64 - 8 * count;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(integer(count) << unused) >> unused);
  }

  static Value number(std::uint64_t found) { return {Kind::number, found, {}, {}, {}}; }

  Value text(std::uint64_t count) {
    const Bytes found = take(count);
    return {Kind::text, 0, {reinterpret_cast<const char*>(found.data()), found.size()}, {}, {}};
  }

  Value list(std::uint64_t count, unsigned depth) {
    Value found{Kind::list, 0, {}, {}, {}};
    for (std::uint64_t i = 0; i < count; ++i) found.items.push_back(value(depth + 1));
    return found;
  }

  Value map(std::uint64_t count, unsigned depth) {
    Value found{Kind::map, 0, {}, {}, {}};
    for (std::uint64_t i = 0; i < count; ++i) {
      const Value key = value(depth + 1);
      if (key.kind != Kind::text) throw Malformed("a key of the metadata is not text");
      found.keys.push_back(key.text);
      found.items.push_back(value(depth + 1));
    }
    return found;
  }

  Bytes bytes_;
};

/// The value of a key; null if the map lacks it. Malformed if it is of another kind.
const Value* find(const Value& map, std::string_view key, Kind kind) {
  for (std::size_t at = 0; at < map.keys.size(); ++at) {
    if (map.keys[at] != key) continue;
    const Value& value = map.items[at];
    if (value.kind != kind) throw Malformed("the metadata's " + std::string(key) + " is of the wrong type");
    return &value;
  }
  return nullptr;
}

std::uint32_t count_of(const Value& map, std::string_view key) {
  const Value* found = find(map, key, Kind::number);
  if (found == nullptr) return 0;
  if (found->number > kLargest) throw Malformed("the metadata's " + std::string(key) + " is out of range");
  return static_cast<std::uint32_t>(found->number);
}

std::string text_of(const Value& map, std::string_view key) {
  const Value* found = find(map, key, Kind::text);
  return found != nullptr ? std::string(found->text) : std::string();
}

const std::vector<Value>& maps_of(const Value& map, std::string_view key) {
  static const std::vector<Value> none;
  const Value* found = find(map, key, Kind::list);
  if (found == nullptr) return none;
  for (const Value& item : found->items) {
    if (item.kind != Kind::map) throw Malformed("the metadata's " + std::string(key) + " is no list of maps");
  }
  return found->items;
}

KernelMetadata kernel_of(const Value& fields) {
  KernelMetadata kernel{text_of(fields, ".symbol"),
                        count_of(fields, ".kernarg_segment_size"),
                        count_of(fields, ".max_flat_workgroup_size"),
                        {}};
  for (const Value& argument : maps_of(fields, ".args"))
    kernel.arguments.push_back(
        {text_of(argument, ".value_kind"), count_of(argument, ".offset"), count_of(argument, ".size")});
  return kernel;
}

}  // namespace

Metadata read_metadata(Bytes note) {
  Reader reader(note);
  const Value root = reader.value();
  if (root.kind != Kind::map) throw Malformed("the metadata is not a map");
  if (!reader.done()) throw Malformed("something follows the metadata");
  Metadata found;
  found.target = text_of(root, "amdhsa.target");
  for (const Value& kernel : maps_of(root, "amdhsa.kernels")) found.kernels.push_back(kernel_of(kernel));
  return found;
}

}  // namespace ckgen::emu
