// What happens beside a selection: a line on stderr, a missed shape on disk.
#pragma once

#include <memory>

#include <ckgen/dispatcher.hpp>

#include "src/select/recorder.hpp"

namespace ckgen::inline v1::detail {

class Hooks {
 public:
  explicit Hooks(const DispatcherOptions& options)
      : verbose_(options.verbose),
        recorder_(options.record.empty() ? nullptr : std::make_unique<Recorder>(options.record)) {}

  bool any() const noexcept { return verbose_ || recorder_ != nullptr; }

  /// Thread-safe; failures to write are not the caller's and are said on stderr once.
  void selected(const Registry& registry, const Problem& problem, const Device& device,
                const Selection& selection) noexcept;

 private:
  bool verbose_;
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace ckgen::inline v1::detail
