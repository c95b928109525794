// A tensor of a framework, as far as a cached call needs it: its address, and words that tell its kind from any other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/python/stable_abi.hpp"

namespace ckgen::inline v1::detail {

/// Words of a key: a call of more tensors than these hold is not cached.
struct KeyWords {
  std::array<std::uint64_t, 4096> words;
  std::size_t used = 0;
  bool full = false;

  void add(std::uint64_t word) noexcept {
    if (used == words.size())
      full = true;
    else
      words[used++] = word;
  }
};

/// The stream that a framework's thread is at, of a device: DLPack's DLPackCurrentWorkStream.
using StreamOf = int (*)(std::int32_t device_type, std::int32_t device_id, void** out);

struct TensorPlace {
  std::uint64_t address = 0;
  std::int32_t device_type = 1;  // DLPack's; 1 is the CPU
  std::int32_t device_id = 0;
  StreamOf stream_of = nullptr;  // null: the framework has none
};

/// Objects of `type` are read from now on: by `exchange`, a capsule "dlpack_exchange_api", or by their
/// `__array_struct__` where it is None. false, with an error, where that is neither.
bool read_with(PyObject* type, PyObject* exchange, PyObject* none) noexcept;

/// Reads the tensor and adds what it is, but for its address, to `key`. false, without an error, for what is not read.
bool read(PyObject* tensor, TensorPlace& place, KeyWords& key) noexcept;

}  // namespace ckgen::inline v1::detail
