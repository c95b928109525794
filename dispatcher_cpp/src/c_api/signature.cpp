// The C API's numbers that stand for signatures, and its problems.
#include <ckgen/signature_text.hpp>

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

bool sized(const ckgen_message& message, const ckgen_problem* value) noexcept {
  if (!sized<ckgen_problem>(message, value)) return false;
  const bool has_fmha = value->size >= offsetof(ckgen_problem, num_threads) && value->fmha != nullptr;
  return !has_fmha || sized(message, value->fmha);
}

namespace {

/// The problem that this thread asked for last. Callers ask for many sizes of one signature: unpacking its number takes
/// a quarter of the time of a selection, and setting a problem's two hundred bytes anew a tenth.
struct Kept {
  std::uint64_t number = Signature{}.pack();
  Problem problem;
  bool is_plain = true;  // nothing but what every call sets

  Problem& of(std::uint64_t wanted) noexcept {
    if (number != wanted) {
      number = wanted;
      problem = Problem(unpack(wanted));
    } else if (!is_plain) {
      problem = Problem(Signature(problem.signature()));
    }
    is_plain = true;
    return problem;
  }
};

}  // namespace

const Problem& problem_of(const ckgen_problem& problem) noexcept {
  constexpr auto most = static_cast<std::uint32_t>(Strategy::tree) + 1;
  static thread_local Kept kept;
  const bool is_second = problem.size >= offsetof(ckgen_problem, fmha);
  const bool is_third = problem.size >= offsetof(ckgen_problem, num_threads);
  Problem& out = kept.of(problem.signature);
  out.shape(problem.m, problem.n, problem.k)
      .batch(problem.batch)
      .deterministic(problem.deterministic != 0)
      .strategy(static_cast<Strategy>(std::min(static_cast<std::uint32_t>(problem.strategy), most)))
      .routing(is_second ? routing_of(problem.experts, problem.top_k) : Routing{})
      .block_m(is_second ? problem.block_m : 0)
      .batch_invariant(is_second && problem.batch_invariant != 0)
      .num_threads(problem.size >= sizeof problem ? problem.num_threads : 0);
  if (is_second && problem.groups != nullptr) {
    out.groups(problem.groups->value);
    kept.is_plain = false;
  }
  if (is_third && problem.fmha != nullptr) {
    out.fmha(fmha_shape_of(*problem.fmha));
    kept.is_plain = false;
  }
  return out;
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
