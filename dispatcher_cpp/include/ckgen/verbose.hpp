// What a Dispatcher says and writes beside its answers, and where that is set.
#pragma once

#include <string>

#include <ckgen/export.h>

namespace ckgen {
inline namespace v1 {

/// Options of one Dispatcher. Nothing reads the environment later than from_environment().
///
/// verbose: one line on stderr for each selection, `v1` naming this form; fields are separated by commas:
///   ckgen_verbose,v1,select,<signature>,<target>,b<B>m<M>n<N>k<K>,<tier>,<instance>,<k_batch>,<reason>
/// `b` is 0 where the signature is not batched; `d` stands behind the sizes where a deterministic result is wished for,
/// `i` where a batch-invariant one is; <instance> and <reason> are `-` where there is none; a comma inside a reason is
/// written as a semicolon. Each line is its own reproducer: fields 4 to 6 are --signature, --target and --shape (with
/// --deterministic or --batch-invariant) of
///   ckgen explain gemm --signature <signature> --target <target> --shape [<B>,]<M>,<N>,<K>
/// Of op fmha the sizes are words, as in "batch=2 heads_q=32 heads_k=8 seqlen_q=128 seqlen_k=4096 hdim_q=128 hdim_v=128
/// mask=b:-1;0".
///
/// record: a folder; problems that no measured row answers at or near their sizes, `unsupported` ones too, are written
/// to a list of shapes (docs/shapes.md) of this process and dispatcher, <record>/ckgen_record_<host>_<pid>_<…>.csv:
/// each once, when it is first missed, and how often when the dispatcher ends. A child of fork() writes one of its own.
/// At most 10,000; misses of others are counted, and said on stderr at the end.
///
/// count: Dispatcher::counters() counts, for some nanoseconds a selection. Recording counts too.
struct DispatcherOptions {
  bool verbose = false;
  std::string force;            // an instance's name: chosen for every problem
  std::string record;           // a folder, or empty
  std::string override_file{};  // a CSV, or empty; see Dispatcher::load_overrides
  bool count = false;
  std::string tables{};  // FILE[:FILE…], or empty; see Dispatcher::load_tables

  /// CKGEN_VERBOSE=1, CKGEN_FORCE, CKGEN_RECORD, CKGEN_OVERRIDE, CKGEN_COUNT=1, CKGEN_TABLES.
  CKGEN_API static DispatcherOptions from_environment();
};

}  // namespace v1
}  // namespace ckgen
