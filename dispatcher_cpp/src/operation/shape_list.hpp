#pragma once

#include <string>

namespace ckgen::inline v1::detail {

/// A CSV of missed shapes of one target. Signatures that the peer keeps in one list (C as bf16 or fp16) share it.
struct ShapeList {
  std::string file;    // "<module>_untuned_gemm_<gfx>_<cu_num>.csv"; the canonical signature where no module has it
  std::string header;  // the columns that the module's tuner reads
  std::string line;    // the shape's own
};

}  // namespace ckgen::inline v1::detail
