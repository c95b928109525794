// Missed problems on disk: a list of shapes of its own for each process (docs/shapes.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "src/select/query.hpp"

namespace ckgen::inline v1::detail {

struct Recording;

/// Each problem once, with how often it was missed. What is new is in the file when record() returns, so that a killed
/// process loses counts but no shape; counts are written when the recorder ends. Thread-safe; beyond the first time a
/// problem costs a hash and an atomic addition. A child of fork() begins a list of its own.
class Recorder {
 public:
  static constexpr std::uint32_t kMostShapes = 10'000;

  /// Creates nothing yet. Throws std::bad_alloc.
  explicit Recorder(std::string folder);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Of a legal problem. What cannot be written is said on stderr once. Throws std::bad_alloc only.
  void record(const Query& query);

  std::uint32_t shapes() const noexcept;
  /// Misses of problems beyond the first kMostShapes.
  std::uint64_t beyond() const noexcept;

 private:
  void begin(const Query& query, std::uint64_t shape);
  bool create();
  bool append(const std::string& line);
  void finish();
  std::string path() const;
  void complain(const std::string& why);

  std::string folder_;
  Recording* recording_;  // of a mapping that a child of fork() sees as zeros
};

}  // namespace ckgen::inline v1::detail
