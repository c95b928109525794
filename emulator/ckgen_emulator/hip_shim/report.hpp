// The report of launches: one JSON object a line.
#pragma once

#include <mutex>
#include <string>

#include "executor.hpp"

namespace ckgen::shim {

/// Appends to a file, a whole line at a time. Thread-safe. A path that is empty or cannot be written: nothing is kept.
class Report {
 public:
  explicit Report(std::string path) : path_(std::move(path)) {}

  /// {"kernel", "grid", "block", "dynamic_lds", "instructions", "groups", "waves", "occupancy", "by_class": {…},
  /// "counts": {…}, "error", "findings": [{"rule", "address", "instruction", "group", "wave", "lane", "count",
  /// "what"}]}; "error" is null or why nothing ran, and then there are no counts.
  void add(const std::string& kernel, const Dispatch& dispatch, const LaunchOutcome& outcome);

 private:
  std::string path_;
  std::mutex mutex_;
};

}  // namespace ckgen::shim
