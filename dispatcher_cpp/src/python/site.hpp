// A call that was checked and planned once: what remains is to put addresses in and run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ckgen/c_api.h>

#include "src/python/stable_abi.hpp"

namespace ckgen::inline v1::detail {

/// The address of a tensor at a place of the block; or of another place of it, where `is_inside`.
struct SitePatch {
  std::uint32_t at;
  std::uint32_t source;  // of tensors, or the offset of the block
  std::uint32_t is_inside;
};

struct SiteTensor {
  std::uint64_t bytes;  // from the address to behind the last element
  std::uint32_t align;
  std::uint32_t is_written;
};

using RunPooled = ckgen_status (*)(const ckgen_dispatcher*, const ckgen_plan*, const void*, void*, ckgen_message);
using Run = ckgen_status (*)(const ckgen_dispatcher*, const ckgen_plan*, const void*, void*, void*, ckgen_message);

struct Site {
  RunPooled pooled;
  Run run;  // null: with the pool's workspace
  const ckgen_dispatcher* dispatcher;
  const ckgen_plan* plan;
  std::uint64_t generation;          // of the dispatcher when the plan was asked for
  std::uint64_t workspace;           // which tensor it is, where `run` is there
  std::vector<unsigned char> block;  // the arguments' struct, and behind it what it points to
  std::vector<SitePatch> patches;
  std::vector<SiteTensor> tensors;
  PyObject* kept;      // the plan and whatever else must live
  PyObject* fail;      // makes an exception of a status and its sentence
  PyObject* makers;    // of each result what allocates it, None of one that is given; null: all are given
  PyObject* allocate;  // makes the workspace of a call that brings none; null: nobody does
};

/// Whether the plan is of the rows that answer now.
bool is_current(const Site& site) noexcept;

/// Whether the addresses are aligned, and nothing that is written may overlap anything else. No is no refusal: who is
/// asked then looks closer, and says what is wrong.
bool takes(const Site& site, const std::uint64_t* addresses) noexcept;

/// Runs without the GIL. false with an error.
bool launch(const Site& site, const std::uint64_t* addresses, void* stream) noexcept;

}  // namespace ckgen::inline v1::detail
