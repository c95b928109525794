// The tensors of one call as they are read: their addresses, what tells their call from others, and where it runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/python/tensor.hpp"

namespace ckgen::inline v1::detail {

inline constexpr std::size_t kMostTensors = 1024;
inline constexpr std::int32_t kCpu = 1;

/// None, for ever.
inline PyObject* none() noexcept {
  static PyObject* const found = Py_BuildValue("");
  return found;
}

inline PyObject* new_none() noexcept {
  Py_IncRef(none());
  return none();
}

/// All tensors of a call, results first; absent ones are None and have no address.
struct CallTensors {
  std::array<std::uint64_t, kMostTensors> addresses;
  std::size_t count = 0;
  KeyWords key;
  StreamOf stream_of = nullptr;  // of the first tensor on a GPU
  std::int32_t device_type = kCpu;
  std::int32_t device_id = 0;

  /// Those of a tuple, behind those that were read before.
  bool read_all(PyObject* tuple) noexcept {
    const Py_ssize_t further = PyTuple_Size(tuple);
    if (further < 0 || count + static_cast<std::size_t>(further) > kMostTensors) return false;
    for (Py_ssize_t i = 0; i < further; ++i)
      if (!read_one(PyTuple_GetItem(tuple, i), addresses[count++])) return false;
    return !key.full;
  }
  bool read_all(PyObject* const* tensors, std::size_t further) noexcept {
    if (count + further > kMostTensors) return false;
    for (std::size_t i = 0; i < further; ++i)
      if (!read_one(tensors[i], addresses[count++])) return false;
    return !key.full;
  }

 private:
  bool read_one(PyObject* tensor, std::uint64_t& address) noexcept {
    address = 0;
    if (tensor == none()) {
      key.add(~std::uint64_t{0});
      return true;
    }
    TensorPlace place;
    if (!read(tensor, place, key)) return false;
    address = place.address;
    if (device_type == kCpu && place.device_type != kCpu) {
      device_type = place.device_type;
      device_id = place.device_id;
      stream_of = place.stream_of;
    }
    return true;
  }
};

inline PyObject* key_bytes(const KeyWords& key) noexcept {
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(key.words.data()),
                                   static_cast<Py_ssize_t>(key.used * sizeof(std::uint64_t)));
}

/// The caller's stream, else that of the framework that the tensors are of. false where nobody says.
inline bool stream_of(PyObject* given, const CallTensors& tensors, void*& stream) noexcept {
  stream = nullptr;
  if (given != none()) {
    const unsigned long long address = PyLong_AsUnsignedLongLong(given);
    if (address == ~0ULL && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      return false;
    }
    stream = reinterpret_cast<void*>(address);
    return true;
  }
  if (tensors.device_type == kCpu) return true;
  return tensors.stream_of != nullptr && tensors.stream_of(tensors.device_type, tensors.device_id, &stream) == 0;
}

}  // namespace ckgen::inline v1::detail
