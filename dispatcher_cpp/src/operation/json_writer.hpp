#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace ckgen::inline v1::detail {

/// Appends members and elements with the commas between them.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) noexcept : out_(out) {}

  JsonWriter& key(std::string_view name) {
    separate();
    quoted(name);
    out_ += ": ";
    fresh_ = true;
    return *this;
  }
  void text(std::string_view value) {
    separate();
    quoted(value);
  }
  void number(std::int64_t value) {
    separate();
    out_ += std::to_string(value);
  }
  void flag(bool value) {
    separate();
    out_ += value ? "true" : "false";
  }
  template <class Body>
  void nested(const char* brackets, Body body) {
    separate();
    out_ += brackets[0];
    fresh_ = true;
    body();
    out_ += brackets[1];
    fresh_ = false;
  }

 private:
  void separate() {
    if (!fresh_) out_ += ", ";
    fresh_ = false;
  }
  void quoted(std::string_view value) {
    out_ += '"';
    for (const char raw : value) {
      const auto letter = static_cast<unsigned char>(raw);
      if (letter == '"' || letter == '\\') out_ += '\\';
      if (letter >= 0x20 && letter < 0x7f) {
        out_ += raw;
      } else {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", letter);
        out_ += escape;
      }
    }
    out_ += '"';
  }
  std::string& out_;
  bool fresh_ = true;
};

}  // namespace ckgen::inline v1::detail
