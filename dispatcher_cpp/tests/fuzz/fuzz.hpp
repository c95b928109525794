// What reads input of others, as functions of any bytes: one in each fuzz_<name>.cpp, under libFuzzer or replayed by
// test_replay.cpp. They abort where the code under test is wrong; sanitizers see the rest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fuzz {

using Bytes = std::span<const std::uint8_t>;

/// One of a program's; it adds itself to `targets`.
struct Target {
  Target(const char* name, void (*run)(Bytes), std::vector<std::string> (*seeds)());

  const char* name;
  void (*run)(Bytes);
  std::vector<std::string> (*seeds)();  // inputs that mean something, to be mutated
};

/// All that are linked into the program.
inline std::vector<const Target*>& targets() {
  static std::vector<const Target*> all;
  return all;
}

inline Target::Target(const char* of, void (*runs)(Bytes), std::vector<std::string> (*means)())
    : name(of), run(runs), seeds(means) {
  targets().push_back(this);
}

inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("fuzz: not so: %s\n", what);  // stderr is what a library complains to
  std::fflush(stdout);
  std::abort();
}

inline std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Values drawn from the input; zeros behind its end.
class Draw {
 public:
  explicit Draw(Bytes bytes) : bytes_(bytes) {}

  bool done() const { return bytes_.empty(); }
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const std::uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  bool coin() { return (byte() & 1) != 0; }
  template <class Number>
  Number raw() {
    Number value{};
    const std::size_t count = std::min(sizeof value, bytes_.size());
    if (count != 0) std::memcpy(&value, bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
    return value;
  }
  /// Mostly small, often at an edge of its type, sometimes anything.
  template <class Number>
  Number number() {
    static_assert(std::is_integral_v<Number>);
    constexpr std::int64_t edges[] = {0,          -1,         1,
                                      2,          16,         127,
                                      128,        1024,       2048,
                                      0x7fffffff, 0x80000000, -0x80000000LL,
                                      INT64_MAX,  INT64_MIN,  INT64_MAX - 1,
                                      0xffffffff, 1LL << 62,  1LL << 31};
    const std::uint8_t kind = byte();
    if (kind < 128) return static_cast<Number>(kind);
    if (kind < 200) return static_cast<Number>(edges[kind % std::size(edges)]);
    return raw<Number>();
  }
  Bytes rest() const { return bytes_; }

 private:
  Bytes bytes_;
};

/// A file with such bytes, of this process alone; it stands until the next one.
inline std::string file_of(Bytes bytes) {
  static const std::string path = [] {
    for (const char* folder : {"/dev/shm", "/tmp"}) {  // memory, where a system has that
      std::string name = std::string(folder) + "/ckgen-fuzz-XXXXXX";
      if (::mkdtemp(name.data()) != nullptr) return name + "/input";
    }
    expect(false, "a folder for files can be made");
    return std::string();
  }();
  std::FILE* file = std::fopen(path.c_str(), "wb");
  expect(file != nullptr, "a file can be written");
  if (!bytes.empty()) std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  return path;
}

}  // namespace fuzz
