// Every executed instruction, in a file.
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

namespace ckgen::emu {

struct Inst;
struct Wave;

/// Appends a line `x,y,z wave address text` per instruction, before it is executed; address hexadecimal, in the code
/// object's image. Thread-safe; what threads do side by side is in any order.
class Trace {
 public:
  /// Null for an empty path. Throws std::runtime_error if the file cannot be opened.
  static std::unique_ptr<Trace> open(const std::string& path);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  void executed(const Wave& wave, const Inst& inst);

 private:
  explicit Trace(std::FILE* file) noexcept : file_(file) {}

  std::FILE* file_;
  std::mutex mutex_;
};

}  // namespace ckgen::emu
