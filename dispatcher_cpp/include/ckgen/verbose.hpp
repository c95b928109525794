// What a Dispatcher says and writes beside its answers, and where that is set.
#pragma once

#include <string>

#include <ckgen/export.h>

namespace ckgen {
inline namespace v1 {

/// Options of one Dispatcher. Nothing reads the environment later than from_environment().
///
/// verbose: one line on stderr for each selection, `v1` naming this form; fields are separated by commas:
///   ckgen_verbose,v1,select,<signature>,<gfx:cu_num>,b<B>m<M>n<N>k<K>,<tier>,<instance>,<k_batch>,<reason>
/// `b` is 0 where the signature is not batched; `d` stands behind the sizes where a deterministic result is wished for;
/// <instance> and <reason> are `-` where there is none; a comma inside a reason is written as a semicolon. Each line is
/// its own reproducer: fields 4 to 6 are --signature, --target and --shape (with --deterministic) of
///   ckgen explain gemm --signature <signature> --target <gfx:cu_num> --shape [<B>,]<M>,<N>,<K>
/// Of op fmha the sizes are words, as in "batch=2 heads_q=32 heads_k=8 seqlen_q=128 seqlen_k=4096 hdim_q=128 hdim_v=128
/// mask=b:-1;0".
///
/// record: a folder; problems answered below `near` are appended, each once, to the untuned list of their module and
/// target, <record>/<module>_untuned_gemm_<gfx>_<cu_num>.csv, with the columns that the module's tuner reads (`M,N,K`;
/// `B` before them, `q_dtype_w` or bf16's flags behind). A signature without a module has a list under its own name.
/// At most 10,000 shapes per process. Several processes may share a folder. A file with other columns is left alone.
struct DispatcherOptions {
  bool verbose = false;
  std::string force;          // an instance's name: chosen for every problem
  std::string record;         // a folder, or empty
  std::string override_file;  // a CSV, or empty; see Dispatcher::load_overrides

  /// CKGEN_VERBOSE=1, CKGEN_FORCE, CKGEN_RECORD, CKGEN_OVERRIDE.
  CKGEN_API static DispatcherOptions from_environment();
};

}  // namespace v1
}  // namespace ckgen
