#include <ckgen/dispatcher.hpp>

#include "src/select/dispatcher_impl.hpp"
#include "src/select/nearest.hpp"
#include "src/select/walk.hpp"

namespace ckgen {
inline namespace v1 {

using detail::Candidate;
using detail::Query;
using detail::Verdict;

namespace {

Selection selection_of(const Candidate& candidate, std::uint32_t external) noexcept {
  Selection selection;
  selection.instance = candidate.instance;
  selection.k_batch = candidate.k_batch;
  selection.table_m = candidate.table_m;
  selection.external = external;
  selection.tier = candidate.tier;
  return selection;
}

Selection refused(const Verdict& verdict, std::uint32_t external = no_index) noexcept {
  Selection selection;
  selection.external = external;
  selection.rule = verdict.rule;
  selection.measured = verdict.measured;
  selection.limit = verdict.limit;
  return selection;
}

/// Ends the walk at the first candidate that supports the problem. Fields are set one by one in the caller's own
/// result, for the same reason as in detail::resolved.
struct First {
  static constexpr bool wants_rejected = false;
  Selection& result;

  bool offer(const Candidate& candidate, const Verdict& verdict) noexcept {
    if (!verdict.ok() && !detail::outweighs(verdict, {result.rule, result.measured, result.limit})) return false;
    result.rule = verdict.rule;
    result.measured = verdict.measured;
    result.limit = verdict.limit;
    if (!verdict.ok()) return false;
    result.instance = candidate.instance;
    result.k_batch = candidate.k_batch;
    result.table_m = candidate.table_m;
    result.tier = candidate.tier;
    return true;
  }
  void external(std::uint32_t index, const detail::Hit&) noexcept { result.external = index; }
};

/// Walks to the end: what supports the problem behind the last place where `after` was tried. The last, so that
/// a caller who goes on from each answer always gets further.
struct Following {
  static constexpr bool wants_rejected = false;
  const Selection& after;
  bool passed = false;
  Selection result = refused(detail::no_instance());
  std::uint32_t winner = no_index;

  bool offer(const Candidate& c, const Verdict& verdict) noexcept {
    if (!verdict.ok()) return false;
    if (c.tier == after.tier && c.instance == after.instance && c.k_batch == after.k_batch &&
        c.table_m == after.table_m) {
      passed = true;
      result = refused(detail::no_instance(), winner);
    } else if (passed && !result && (c.instance != after.instance || c.k_batch != after.k_batch)) {
      result = selection_of(c, winner);
    }
    return false;
  }
  void external(std::uint32_t index, const detail::Hit&) noexcept { winner = index; }
};

Status out_of_memory() noexcept {
  return Status::error(StatusCode::internal, "out of memory");
}

}  // namespace

Dispatcher::Impl::Impl(const Registry& source, std::shared_ptr<const detail::RegistryState> snapshot,
                       const DispatcherOptions& options)
    : registry(source), state(std::move(snapshot)), index(*state), hooks(options) {
  if (!options.force.empty()) {
    is_forced = true;
    forced = state->find(options.force);
    if (forced == no_index)
      status = Status::error(StatusCode::invalid_argument, "the forced instance %s is not registered",
                             options.force.c_str());
  }
  if (!options.override_file.empty()) {
    const Status loaded = detail::load_overrides(*state, options.override_file.c_str(), overrides);
    if (!loaded.ok()) status = loaded;
  }
  if (!options.tables.empty()) {
    const Status loaded = detail::load_tables(*state, index, options.tables.c_str(), tables);
    if (!loaded.ok()) status = loaded;
  }
}

namespace {

/// What the walk finds; false where the problem is illegal.
[[gnu::always_inline]] inline bool answer(const Query& q, Selection& result) noexcept {
  First first{result};
  const Verdict illegal = q.illegal();
  if (!illegal.ok()) {
    first.offer({}, illegal);
    return false;
  }
  result.rule = detail::no_instance().rule;
  detail::walk(q, first);
  if (result.rule == detail::no_instance().rule) [[unlikely]]
    first.offer({}, q.untried());
  return true;
}

}  // namespace

Selection Dispatcher::Impl::select(const Problem& problem, const Device& device) const noexcept {
  Selection result;
  if (!problem.status().ok() || !device) {
    result.rule = detail::no_instance().rule;
    return result;
  }
  const Query q = query(problem, device);
  static_cast<void>(answer(q, result));
  return result;
}

Selection Dispatcher::Impl::hooked(const Problem& problem, const Device& device) const noexcept {
  Selection result;
  if (!problem.status().ok() || !device) {
    result.rule = detail::no_instance().rule;
    hooks.selected(registry, nullptr, problem, device, result);
    return result;
  }
  const Query q = query(problem, device);
  const bool legal = answer(q, result);
  hooks.selected(registry, legal ? &q : nullptr, problem, device, result);
  return result;
}

Dispatcher::Dispatcher(const Registry& registry) noexcept {
  try {
    *this = Dispatcher(registry, DispatcherOptions::from_environment());
  } catch (...) {
    impl_ = nullptr;
  }
}

Dispatcher::Dispatcher(const Registry& registry, const DispatcherOptions& options) noexcept {
  try {
    auto state = registry.state_ ? registry.state_ : std::make_shared<const detail::RegistryState>();
    impl_ = std::make_unique<Impl>(registry, std::move(state), options);
  } catch (...) {
    impl_ = nullptr;
  }
}

Dispatcher::~Dispatcher() = default;
Dispatcher::Dispatcher(Dispatcher&&) noexcept = default;
Dispatcher& Dispatcher::operator=(Dispatcher&&) noexcept = default;

const Status& Dispatcher::status() const noexcept {
  static const Status failed = out_of_memory();
  return impl_ ? impl_->status : failed;
}

const Registry& Dispatcher::registry() const noexcept {
  static const Registry empty;
  return impl_ ? impl_->registry : empty;
}

Selection Dispatcher::select(const Problem& problem, const Device& device) const noexcept {
  if (!impl_) return refused(detail::no_instance());
  if (impl_->hooks.any()) [[unlikely]]
    return impl_->hooked(problem, device);
  return impl_->select(problem, device);
}

Selection Dispatcher::next(const Problem& problem, const Device& device, const Selection& after) const noexcept {
  if (!impl_ || !problem.status().ok() || !device || !after) return refused(detail::no_instance());
  const Query q = impl_->query(problem, device);
  if (const Verdict illegal = q.illegal(); !illegal.ok()) return refused(illegal);
  Following following{after};
  detail::walk(q, following);
  return following.result;
}

void Dispatcher::enumerate(const Problem& problem, const Device& device, EnumerateFn call,
                           void* context) const noexcept {
  if (!impl_ || !problem.status().ok() || !device || call == nullptr) return;
  const Query q = impl_->query(problem, device);
  if (!q.illegal().ok()) return;
  for (std::uint32_t i = 0; i < q.state.instances.size(); ++i) {
    if (!q.foreign_verdict(*q.state.instances[i], 1).ok()) continue;
    if (!call(context, selection_of({Tier::default_, i, 1, 0}, no_index))) return;
  }
}

bool Dispatcher::is_tuned(const Problem& problem, const Device& device) const noexcept {
  if (!impl_ || !problem.status().ok() || !device) return false;
  Query q = impl_->query(problem, device);
  if (!q.illegal().ok()) return false;
  q.overrides = nullptr;
  q.is_forced = false;
  Selection found;
  First first{found};
  detail::walk(q, first);
  return found.tier == Tier::exact || found.tier == Tier::near_;
}

Counters Dispatcher::counters() const noexcept {
  return impl_ ? impl_->hooks.counters() : Counters{};
}

Status Dispatcher::load_overrides(const char* path) noexcept {
  if (!impl_) return out_of_memory();
  if (path == nullptr) return Status::error(StatusCode::invalid_argument, "no path");
  const Status loaded = detail::load_overrides(*impl_->state, path, impl_->overrides);
  impl_->generation.fetch_add(1);
  return loaded;
}

Status Dispatcher::load_tables(const char* paths) noexcept {
  if (!impl_) return out_of_memory();
  if (paths == nullptr) return Status::error(StatusCode::invalid_argument, "no path");
  const Status loaded = detail::load_tables(*impl_->state, impl_->index, paths, impl_->tables);
  impl_->generation.fetch_add(1);
  return loaded;
}

std::uint64_t Dispatcher::generation() const noexcept {
  return impl_ ? impl_->generation.load() : 0;
}

std::uint64_t Dispatcher::tables_digest() const noexcept {
  return impl_ ? detail::tables_digest(*impl_->state, impl_->tables.current()) : 0;
}

std::uint64_t Dispatcher::loaded_tables_digest() const noexcept {
  const detail::LoadedTables* const loaded = impl_ ? impl_->tables.current() : nullptr;
  return loaded != nullptr ? loaded->digest() : 0;
}

}  // namespace v1
}  // namespace ckgen
