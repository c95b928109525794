// What happens beside a selection: it is counted, said on stderr, and a miss is recorded.
#pragma once

#include <memory>

#include <ckgen/dispatcher.hpp>

#include "src/select/recorder.hpp"
#include "src/select/tally.hpp"

namespace ckgen::inline v1::detail {

class Hooks {
 public:
  /// Throws std::bad_alloc.
  explicit Hooks(const DispatcherOptions& options)
      : verbose_(options.verbose),
        tally_(options.count || !options.record.empty() ? std::make_unique<Tally>() : nullptr),
        recorder_(options.record.empty() ? nullptr : std::make_unique<Recorder>(options.record)) {}

  bool any() const noexcept { return verbose_ || tally_ != nullptr; }

  /// `query` is null where there is no legal problem or no device. Thread-safe; failures to write are not the caller's
  /// and are said on stderr once.
  void selected(const Registry& registry, const Query* query, const Problem& problem, const Device& device,
                const Selection& selection) const noexcept;

  /// Zeros where nothing is counted.
  Counters counters() const noexcept;

 private:
  bool verbose_;
  std::unique_ptr<Tally> tally_;
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace ckgen::inline v1::detail
