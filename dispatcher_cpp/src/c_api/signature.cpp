// The C API's numbers that stand for signatures, and its problems.
#include <ckgen/signature_text.hpp>

#include <optional>

#include "src/c_api/support.hpp"
#include "src/operation/operation.hpp"
#include "src/signature/key.hpp"

using ckgen::v1::detail::answer;
using ckgen::v1::detail::given;
using ckgen::v1::detail::invalid;
using ckgen::v1::detail::unpack;

namespace ckgen::inline v1::detail {

/// A count that 16 bits do not hold becomes 0, which no routing has.
Routing routing_of(std::uint32_t experts, std::uint32_t top_k) noexcept {
  const auto narrow = [](std::uint32_t count) { return static_cast<std::uint16_t>(count <= 0xffff ? count : 0); };
  return {narrow(experts), narrow(top_k)};
}

namespace {

/// The problem that this thread asked for last. Callers ask for many sizes of one: unpacking a signature's number takes
/// a quarter of the time of a selection, setting a problem's two hundred bytes a tenth, and a selection that reads what
/// was just written in other widths waits for it.
class Kept {
 public:
  const Problem& of(const ckgen_problem& given) noexcept {
    if (!is_like(given)) [[unlikely]]
      return begin(given);
    return problem_->shape(given.m, given.n, given.k).batch(given.batch);
  }

 private:
  /// Whether `given` is the same but for its sizes.
  bool is_like(const ckgen_problem& given) const noexcept {
    return given.size >= sizeof asked_ && asked_.size != 0 && given.signature == asked_.signature &&
           given.deterministic == asked_.deterministic && given.strategy == asked_.strategy &&
           given.groups == nullptr && given.experts == asked_.experts && given.top_k == asked_.top_k &&
           given.block_m == asked_.block_m && given.batch_invariant == asked_.batch_invariant &&
           given.fmha == nullptr && given.num_threads == asked_.num_threads;
  }

  [[gnu::noinline]] const Problem& begin(const ckgen_problem& given) noexcept {
    constexpr auto most = static_cast<std::uint32_t>(Strategy::tree) + 1;
    const bool is_second = given.size >= offsetof(ckgen_problem, fmha);
    const bool is_third = given.size >= offsetof(ckgen_problem, num_threads);
    const bool is_whole = given.size >= sizeof given;
    Problem& made = problem_.emplace(unpack(given.signature));
    made.shape(given.m, given.n, given.k)
        .batch(given.batch)
        .deterministic(given.deterministic != 0)
        .strategy(static_cast<Strategy>(std::min(static_cast<std::uint32_t>(given.strategy), most)))
        .routing(is_second ? routing_of(given.experts, given.top_k) : Routing{})
        .block_m(is_second ? given.block_m : 0)
        .batch_invariant(is_second && given.batch_invariant != 0)
        .num_threads(is_whole ? given.num_threads : 0);
    const bool has_groups = is_second && given.groups != nullptr;
    const bool has_fmha = is_third && given.fmha != nullptr;
    if (has_groups) made.groups(given.groups->value);
    if (has_fmha) made.fmha(fmha_shape_of(*given.fmha));
    if (is_whole) asked_ = given;
    if (!is_whole || has_groups || has_fmha) asked_.size = 0;
    return made;
  }

  ckgen_problem asked_{};  // size 0: nothing, or what points elsewhere, which may be other data by the next call
  std::optional<Problem> problem_;
};

/// A shared library finds what is a thread's own by a call, which GCC repeats wherever it is named.
[[gnu::noinline]] Kept& kept_of_thread() noexcept {
  constinit static thread_local Kept kept;
  return kept;
}

}  // namespace

const Problem& problem_of(const ckgen_problem& problem) noexcept {
  return kept_of_thread().of(problem);
}

namespace {

bool is_known(const Signature& s) noexcept {
  for (const DType dtype : {s.a, s.b, s.c, s.acc, s.scale}) {
    if (static_cast<int>(dtype) >= kDTypeCount) return false;
  }
  for (const EpilogueOp op : s.epilogue.ops) {
    if (static_cast<int>(op) >= kEpilogueOpCount) return false;
  }
  for (int i = 1; i < kMaxEpilogueOps; ++i) {
    if (s.epilogue.ops[i] != EpilogueOp::none && s.epilogue.ops[i - 1] == EpilogueOp::none) return false;
  }
  if (static_cast<int>(s.a_op) >= kOperandOpCount || static_cast<int>(s.b_op) >= kOperandOpCount) return false;
  if (static_cast<int>(s.scale_block.sides) >= kScaleSidesCount) return false;
  if (s.scale_block.n == 0 || s.scale_block.k == 0) return false;
  return is_operation(s.op) && operation_of(s.op).registering.is_known(s);
}

}  // namespace
}  // namespace ckgen::inline v1::detail

extern "C" {

ckgen_status ckgen_parse_signature(const char* text, uint64_t* signature, ckgen_message message) {
  if (!given(message, text, signature)) return CKGEN_INVALID_ARGUMENT;
  const auto parsed = ckgen::parse_signature(text);
  if (parsed) *signature = parsed->pack();
  return answer(parsed.status(), message);
}

ckgen_status ckgen_signature_text(uint64_t signature, ckgen_message text) {
  const ckgen::Signature unpacked = unpack(signature);
  if (!ckgen::detail::is_known(unpacked) || unpacked.pack() != signature)
    return invalid(text, "not the number of a signature");
  char name[ckgen::kSignatureTextSize];
  ckgen::canonical_text(unpacked, name);
  ckgen::detail::write(text, name);
  return CKGEN_OK;
}

}  // extern "C"
