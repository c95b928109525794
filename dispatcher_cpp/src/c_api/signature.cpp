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

/// What a number stands for. Kept of the number that this thread gave last, as unpacking one takes a quarter of the
/// time of a selection, and callers ask for many sizes of one signature.
const Signature& signature_of(std::uint64_t number) noexcept {
  struct Kept {
    std::uint64_t number;
    Signature signature;
  };
  static thread_local Kept kept{Signature{}.pack(), {}};
  if (kept.number != number) kept = {number, unpack(number)};
  return kept.signature;
}

}  // namespace

Problem problem_of(const ckgen_problem& problem) noexcept {
  constexpr auto most = static_cast<std::uint32_t>(Strategy::tree) + 1;
  Problem out(signature_of(problem.signature));
  out.shape(problem.m, problem.n, problem.k)
      .batch(problem.batch)
      .deterministic(problem.deterministic != 0)
      .strategy(static_cast<Strategy>(std::min(static_cast<std::uint32_t>(problem.strategy), most)));
  if (problem.size < offsetof(ckgen_problem, fmha)) return out;
  if (problem.groups != nullptr) out.groups(problem.groups->value);
  out.routing(routing_of(problem.experts, problem.top_k)).block_m(problem.block_m);
  out.batch_invariant(problem.batch_invariant != 0);
  if (problem.size < offsetof(ckgen_problem, num_threads)) return out;
  if (problem.fmha != nullptr) out.fmha(fmha_shape_of(*problem.fmha));
  if (problem.size >= sizeof problem) out.num_threads(problem.num_threads);
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
