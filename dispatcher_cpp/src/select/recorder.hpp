// Appends missed shapes to <folder>/<the file of its list>, the tuner's input.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "src/operation/shape_list.hpp"

namespace ckgen::inline v1::detail {

/// Each line once per file, whoever wrote it there. Thread-safe; several processes may share the folder: a line is one
/// write to a file that is locked and opened for appending.
class Recorder {
 public:
  static constexpr std::size_t kMaxShapes = 10'000;

  explicit Recorder(std::string folder) : folder_(std::move(folder)) {}
  void record(const ShapeList& list);

 private:
  struct File {
    std::string path;
    std::uint64_t read = 0;  // bytes of the file that are in `lines`
    bool torn = false;       // its last line has no end: a foreign editor's
    bool foreign = false;    // it has other columns: nothing is appended
    std::unordered_set<std::string> lines;
  };

  void append(File& file, const ShapeList& list);
  void complain(const std::string& path, const std::string& why);

  std::mutex mutex_;
  std::string folder_;
  std::unordered_set<std::string> seen_;
  std::unordered_map<std::string, File> files_;  // by name
  bool complained_ = false;
};

}  // namespace ckgen::inline v1::detail
