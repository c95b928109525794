// What every operation answers: generic code asks the descriptor, and names no operation. Only src/operations.cpp knows
// which there are. Descriptors are constants: nothing constructs them at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <ckgen/device_code.hpp>
#include <ckgen/instance.hpp>
#include <ckgen/library.hpp>
#include <ckgen/plan.hpp>
#include <ckgen/run_args.hpp>

#include "src/gpu/runtime.hpp"
#include "src/operation/candidate.hpp"
#include "src/operation/cost.hpp"
#include "src/operation/file_row.hpp"
#include "src/operation/own_table.hpp"
#include "src/operation/request.hpp"
#include "src/operation/shape.hpp"

namespace ckgen::inline v1::detail {

struct Entry;
class JsonWriter;

/// Signatures and constants that come from outside. A flaw is a text, null where there is none.
struct Registering {
  /// Whether every field of a signature is one of its enumerators.
  bool (*is_known)(const Signature&) noexcept;
  /// Of an instance and a unit of the operation, and of an instance's GPU code. Null: there is nothing to ask.
  const char* (*instance_flaw)(const InstanceDesc&) noexcept = nullptr;
  const char* (*unit_flaw)(const SignatureUnit&) noexcept = nullptr;
  const char* (*code_flaw)(const DeviceCode&) noexcept = nullptr;
  /// Of an instance of any other operation: that it has what only this one's have. Null: the same.
  const char* (*foreign_instance_flaw)(const InstanceDesc&) noexcept = nullptr;
  /// Of GPU code of any operation: in what it has for stages of this one. Null: the same.
  const char* (*stages_flaw)(const DeviceCode&) noexcept = nullptr;
  /// A table of SignatureUnit::own_tables. Null: units of the operation have none, and TableProducts there.
  OwnTable (*own_table)(const SignatureUnit&, std::uint32_t at) noexcept = nullptr;
  /// Adds all that such a table says; instances are numbered as the table has them.
  void (*hash_own_table)(const void* table, ShapeHash&) noexcept = nullptr;
  /// The most splits that an instance takes.
  std::int32_t (*most_splits)(const InstanceDesc&) noexcept;
  /// Members of an instance that only this operation's have. Null: none.
  void (*write)(JsonWriter&, const InstanceDesc&) = nullptr;
};

/// The walk over candidates.
struct Selecting {
  /// The first rule that makes the problem illegal.
  Verdict (*illegal)(const Request&) noexcept;
  /// The first demand of an instance of the signature that a legal problem fails. A k_batch of 0 counts as 1.
  Verdict (*verdict)(const Request&, const InstanceDesc&, std::uint32_t k_batch) noexcept;
  /// Whether there is none. Null: verdict() says.
  bool (*takes)(const Request&, const InstanceDesc&, std::uint32_t k_batch) noexcept = nullptr;
  /// Why a legal problem is refused of which no instance was tried. Null: no_instance().
  Verdict (*untried)(const Request&) noexcept = nullptr;
  /// The batch of the keys of tables and overrides.
  std::int64_t (*key_batch)(const Request&) noexcept;
  /// The sizes that costs are counted with, and what an instance costs with the k_batch that suits it best.
  Sizes (*cost_sizes)(const Request&) noexcept;
  SplitCost (*cost)(const Request&, const InstanceDesc&, const Sizes&) noexcept;
  /// What `cheapest` reads of a default. Null: nothing.
  DefaultNote (*note)(const InstanceDesc&) noexcept = nullptr;
  /// The default of least cost that takes the problem, of equal ones the first, as `takes` and `cost` of each would
  /// say. Not asked where a strategy or batch invariance is wished for. Null: each is asked.
  DefaultFound (*cheapest)(const Request&, const Entry&, const Sizes&) noexcept = nullptr;
  /// Whether it counts by those sizes; else by the problem's own.
  bool costs_sizes = true;
  /// Whether an instance takes problems whatever their M; of attention, whatever their batch and lengths.
  bool (*takes_every_batch)(const InstanceDesc&) noexcept;
  /// Whether a row leaves the work of a kernel of ckgen's own to the caller's. Null: a row of exactly M does.
  Verdict (*declined)(const Request&, const InstanceDesc&) noexcept = nullptr;
  /// The operation has tables of its own: the measured candidate at position `at` of them or the next behind it; `at`
  /// is then behind that one. False: no more. Null: ladders of M, decision rules and tables of other CU counts.
  bool (*next_measured)(const Request&, const Entry&, std::uint32_t& at, Candidate&) noexcept = nullptr;
  /// How many splits the k_batch of a measured row means for a problem. Null: so many.
  std::uint32_t (*measured_splits)(const Request&, const InstanceDesc&, std::uint32_t k_batch) noexcept = nullptr;
};

/// Override files, lists of shapes, and tables that a program loads.
struct Listing {
  /// Reads what the key of a row has. An empty string, or why the row is left out.
  std::string (*read_override)(const FileRow&, const Signature&, OverrideKey&);
  /// OverrideKey::own of a problem. Null: zeros.
  void (*override_key)(const Request&, OverrideKey&) noexcept = nullptr;
  /// Makes the problem of a row of a table. An empty string, or why the row is left out.
  std::string (*read_shape)(const FileRow&, const Signature&, ShapeProblem&);
  /// Null: N, K and the batch of keys are the same, M is rounded up.
  void (*measured_key)(const Request&, MeasuredKey&) noexcept = nullptr;
  /// Adds what tells a legal problem from others of its signature. Null: M, N, K and the batch of keys.
  void (*hash_shape)(const Request&, ShapeHash&) noexcept = nullptr;
  /// Writes what a list of shapes says of a legal problem, but for M, N, K and the batch of keys, which are filled
  /// in.
  void (*write_shape)(const Request&, ShapeCells&) = nullptr;
};

/// What a kernel of GPU code leaves in its workspace for a stage of the operation's own behind it, in place of
/// DeviceCode::workspace. No bytes: nothing.
struct Leftover {
  DeviceWorkspaceFn bytes = nullptr;
  std::uint8_t stage = 0;    // Stage::own
  bool starts_zero = false;  // as the kernel leaves some of it alone
};

/// Plans and their runs.
struct Running {
  /// What its plans are of, for messages: "a GEMM".
  const char* what;
  /// Whether 64 bits can count the bits of every operand when it is stored densely.
  Status (*check_extents)(const Problem&) noexcept;
  /// Gives the problem of a plan, `own`, what an instance computes of the one that was asked about.
  void (*settle)(const Problem& asked, const InstanceDesc&, Problem& own) noexcept;
  /// Whether a kernel of attached GPU code may add to C, so that its plan resets it.
  bool (*resets_output)(const Stage& kernel) noexcept;
  Leftover (*leftover)(const DeviceCode&) noexcept = nullptr;  // null: none
  /// Zeroes C before a kernel that adds to it. Null: clear_output().
  ClearFn clear = nullptr;
  /// Fills in the plan of plan.problem, whose first idea is that one kernel. Null: fill_stages().
  Status (*fill_stages)(const RegistryState&, const Problem& asked, const Stage& kernel, Plan&) noexcept = nullptr;
  /// Whether its arguments fit a plan.
  Status (*check_args)(const Plan&, const RunArgs&) noexcept;
  /// Sets the launch's arguments.
  void (*give)(const RunArgs&, Launch&) noexcept;
  /// Launches a stage of kind `own`, whose result goes to `output`; what it sets in the launch, launches behind it
  /// have too. Null: there are none.
  Status (*launch_own)(const Stage&, const Device&, void* output, Launch&) noexcept = nullptr;
  /// Launches a checked plan. Null: launch_in_order().
  Status (*launch)(const Plan&, const RunArgs&, void* workspace, Stream) noexcept = nullptr;
};

/// Texts.
struct Explaining {
  /// A signature in words, as in "gemm a8w8_blockscale fp8_fnuz·fp8_fnuz→bf16 rcr".
  std::string (*signature)(const Signature&);
  /// The sizes of a problem, as in "M=128 N=1024 K=2048".
  std::string (*sizes)(const Request&);
  /// The sizes and wishes of a problem as a field of a verbose line, without commas, as in "b0m128n1024k2048d".
  std::string (*brief)(const Problem&);
  /// What an instance asked of a problem and got, joined by commas; may be empty.
  std::string (*demands)(const InstanceDesc&, std::uint32_t k_batch);
  /// A line on what an instance makes of a problem that it supports or not; empty: there is nothing to say.
  std::string (*details)(const Request&, const InstanceDesc&, bool supported) = nullptr;
  /// What rows of tables have in place of a batch, as in "experts=8 top_k=2". Null: they have a batch, or none.
  std::string (*row_key)(const Request&) = nullptr;
  /// The name of the size that tables measured.
  const char* measured = "M";
  /// Why a tier of tables of the operation's own offered nothing; empty where it has none. Null: it never has.
  std::string (*absent)(const Request&, const Entry&, Tier) = nullptr;
  /// What is nearest to a signature of which nothing was built. Null: there is nothing to say.
  std::string (*nearest)(const Request&) = nullptr;
};

struct Operation {
  Op op;
  Registering registering;
  Selecting selecting;
  Listing listing;
  Running running;
  Explaining explaining;
};

/// Every operation, at the place of its Op.
extern const std::span<const Operation* const> operations;

inline bool is_operation(Op op) noexcept {
  return static_cast<std::size_t>(op) < operations.size();
}

/// A signature that a caller made up may have no operation: then the first answers, and there is no instance of it.
inline const Operation& operation_of(Op op) noexcept {
  return *operations[is_operation(op) ? static_cast<std::size_t>(op) : 0];
}

}  // namespace ckgen::inline v1::detail
