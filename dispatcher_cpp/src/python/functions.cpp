// The functions that ckgen.runtime.native calls; every one is called with the GIL.
#include <ckgen/c_api_python.h>

#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "src/python/call_tensors.hpp"
#include "src/python/site.hpp"

namespace ckgen::inline v1::detail {
namespace {

constexpr char kSite[] = "ckgen.site";

const Site* site_of(PyObject* capsule) noexcept {
  return static_cast<const Site*>(PyCapsule_GetPointer(capsule, kSite));
}

void end_site(PyObject* capsule) {
  if (const Site* site = site_of(capsule)) {
    for (PyObject* one : {site->kept, site->fail, site->makers, site->allocate})
      if (one != nullptr) Py_DecRef(one);
    delete site;
  }
}

/// A further reference to an object.
PyObject* own(PyObject* object) noexcept {
  Py_IncRef(object);
  return object;
}

/// A tensor that the framework of the others allocates; memory of a GPU is freed behind the launch, on the stream that
/// it was made on. null with an error.
PyObject* make(PyObject* maker, std::uint64_t& address) noexcept {
  PyObject* const made = PyObject_CallNoArgs(maker);
  TensorPlace place;
  KeyWords unused;
  if (made == nullptr || read(made, place, unused)) {
    address = place.address;
    return made;
  }
  Py_DecRef(made);
  return PyErr_NoMemory();
}

/// The results of a call: those that were given, and those that the site makes. null with an error.
PyObject* results_of(const Site& site, PyObject* given, std::uint64_t* addresses) noexcept {
  const Py_ssize_t count = PyTuple_Size(given);
  PyObject* const results = PyTuple_New(count);
  for (Py_ssize_t i = 0; results != nullptr && i < count; ++i) {
    PyObject* one = PyTuple_GetItem(given, i);
    PyObject* const maker = one == none() ? PyTuple_GetItem(site.makers, i) : none();
    one = maker != none() ? make(maker, addresses[i]) : own(one);
    if (one == nullptr || PyTuple_SetItem(results, i, one) != 0) {
      Py_DecRef(results);
      return nullptr;
    }
  }
  return results;
}

bool run(const Site& site, CallTensors& tensors, void* stream) noexcept {
  if (site.allocate == nullptr) return launch(site, tensors.addresses.data(), stream);
  const Owned workspace(make(site.allocate, tensors.addresses[site.workspace]));
  return workspace && launch(site, tensors.addresses.data(), stream);
}

/// Runs a site and returns `results`, a reference that it takes. None where the site does not take these tensors, null
/// with an error.
PyObject* run_into(PyObject* results, const Site& site, CallTensors& tensors, void* stream) noexcept {
  if (results == nullptr) return nullptr;
  const bool takes_these = takes(site, tensors.addresses.data());
  if (takes_these && run(site, tensors, stream)) return results;
  Py_DecRef(results);
  return takes_these ? nullptr : new_none();
}

/// Whether two tuples are of the very same objects, as words, None and defaults of arguments are in each call. No says
/// nothing.
bool is_same(PyObject* said, PyObject* other) noexcept {
  if (said == other) return true;
  const Py_ssize_t count = PyTuple_Size(said);
  if (PyTuple_Size(other) != count) return false;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (PyTuple_GetItem(said, i) != PyTuple_GetItem(other, i)) return false;
  return true;
}

/// The site among those of the same tensors, borrowed; null where there is none. To hash what is said takes longer than
/// to look at the first few.
PyObject* site_among(PyObject* sites, PyObject* said) noexcept {
  constexpr int kFew = 4;
  Py_ssize_t at = 0;
  PyObject *other = nullptr, *site = nullptr;
  for (int i = 0; i < kFew && PyDict_Next(sites, &at, &other, &site) != 0; ++i)
    if (is_same(said, other)) return site;
  return PyDict_GetItemWithError(sites, said);
}

/// The site of these options and tensors, if it may run as it is, kept by `kept`; null without an error where none may.
const Site* site_for(PyObject* sites, PyObject* said, PyObject* given_stream, const CallTensors& tensors,
                     PyObject*& kept, void*& stream) noexcept {
  const Owned bytes(key_bytes(tensors.key));
  if (!bytes) return nullptr;
  PyObject* const alike = PyDict_GetItemWithError(sites, bytes.get());
  kept = alike != nullptr ? site_among(alike, said) : nullptr;
  if (kept == nullptr) {
    PyErr_Clear();  // options that have no hash; whoever makes a site says so
    return nullptr;
  }
  Py_IncRef(kept);  // another thread may drop it while this one runs without the GIL
  const Site* const site = site_of(kept);
  if (site == nullptr || !is_current(*site) || !stream_of(given_stream, tensors, stream)) return nullptr;
  return site;
}

PyObject* none_unless_failed() noexcept {
  return PyErr_Occurred() == nullptr ? new_none() : nullptr;
}

/// call(sites, options, results, operands, stream): runs the site of these options and tensors, and returns its
/// results. None where there is none that may run as it is.
PyObject* call(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 5) return new_none();
  CallTensors tensors;
  tensors.key.add(arguments[4] != none() ? 1 : 0);
  if (!tensors.read_all(arguments[2]) || !tensors.read_all(arguments[3])) return new_none();
  PyObject* found = nullptr;
  void* stream = nullptr;
  const Site* const site = site_for(arguments[0], arguments[1], arguments[4], tensors, found, stream);
  const Owned kept(found);
  if (site == nullptr) return none_unless_failed();
  PyObject* const results =
      site->makers == nullptr ? own(arguments[2]) : results_of(*site, arguments[2], tensors.addresses.data());
  return run_into(results, *site, tensors, stream);
}

/// call_one(sites, options, stream, result, *operands): the same of one result, which it returns.
PyObject* call_one(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  constexpr Py_ssize_t kAhead = 3;
  if (count <= kAhead) return new_none();
  CallTensors tensors;
  tensors.key.add(arguments[2] != none() ? 1 : 0);
  if (!tensors.read_all(arguments + kAhead, static_cast<std::size_t>(count - kAhead))) return new_none();
  PyObject* found = nullptr;
  void* stream = nullptr;
  const Site* const site = site_for(arguments[0], arguments[1], arguments[2], tensors, found, stream);
  const Owned kept(found);
  if (site == nullptr) return none_unless_failed();
  PyObject* const result =
      site->makers == nullptr ? own(arguments[kAhead]) : make(PyTuple_GetItem(site->makers, 0), tensors.addresses[0]);
  return run_into(result, *site, tensors, stream);
}

/// key(tensors, stream): the bytes by which `call` will look for sites; None where it never will.
PyObject* key(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  CallTensors tensors;
  if (count != 2) return new_none();
  tensors.key.add(arguments[1] != none() ? 1 : 0);
  if (!tensors.read_all(arguments[0])) return new_none();
  return key_bytes(tensors.key);
}

template <class Value>
bool copy_bytes(PyObject* bytes, std::vector<Value>& out) noexcept {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes, &data, &size) != 0) return false;
  try {
    out.resize(static_cast<std::size_t>(size) / sizeof(Value));
  } catch (...) {
    return PyErr_NoMemory() != nullptr;
  }
  if (!out.empty()) std::memcpy(out.data(), data, out.size() * sizeof(Value));
  return true;
}

/// A reference of the site's own; null of None.
PyObject* held(PyObject* object) noexcept {
  return object == none() ? nullptr : own(object);
}

/// site(numbers, block, patches, tensors, kept, fail, makers, allocate): a capsule of a Site; `numbers` are its first
/// six fields.
PyObject* site(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 8) return new_none();
  std::array<std::uint64_t, 6> numbers;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    PyObject* const number = PyTuple_GetItem(arguments[0], static_cast<Py_ssize_t>(i));
    if (number == nullptr) return nullptr;
    numbers[i] = PyLong_AsUnsignedLongLong(number);
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  std::unique_ptr<Site> made(new (std::nothrow) Site{});
  if (made == nullptr) return PyErr_NoMemory();
  made->pooled = reinterpret_cast<RunPooled>(numbers[0]);
  made->run = reinterpret_cast<Run>(numbers[1]);
  made->dispatcher = reinterpret_cast<const ckgen_dispatcher*>(numbers[2]);
  made->plan = reinterpret_cast<const ckgen_plan*>(numbers[3]);
  made->generation = numbers[4];
  made->workspace = numbers[5];
  if (!copy_bytes(arguments[1], made->block) || !copy_bytes(arguments[2], made->patches) ||
      !copy_bytes(arguments[3], made->tensors))
    return nullptr;
  PyObject* const capsule = PyCapsule_New(made.get(), kSite, end_site);
  if (capsule == nullptr) return nullptr;
  made->kept = held(arguments[4]);
  made->fail = held(arguments[5]);
  made->makers = held(arguments[6]);
  made->allocate = held(arguments[7]);
  made.release();
  return capsule;
}

/// launch(site, addresses, stream): runs whatever the addresses are; who calls has looked.
PyObject* launch_site(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 3) return new_none();
  const Site* const found = site_of(arguments[0]);
  if (found == nullptr) return nullptr;
  std::array<std::uint64_t, kMostTensors> addresses;
  if (found->tensors.size() > addresses.size()) return PyErr_NoMemory();
  for (std::size_t i = 0; i < found->tensors.size(); ++i) {
    PyObject* const address = PyTuple_GetItem(arguments[1], static_cast<Py_ssize_t>(i));
    if (address == nullptr) return nullptr;
    addresses[i] = PyLong_AsUnsignedLongLong(address);
  }
  const unsigned long long stream = PyLong_AsUnsignedLongLong(arguments[2]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  return launch(*found, addresses.data(), reinterpret_cast<void*>(stream)) ? new_none() : nullptr;
}

/// read_with(type, exchange): see tensor.hpp.
PyObject* read_type_with(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2 || !read_with(arguments[0], arguments[1], none())) return count != 2 ? new_none() : nullptr;
  return new_none();
}

std::array<PyMethodDef, 6> methods{{
    {"call", call, kFastCall, nullptr},
    {"call_one", call_one, kFastCall, nullptr},
    {"key", key, kFastCall, nullptr},
    {"site", site, kFastCall, nullptr},
    {"launch", launch_site, kFastCall, nullptr},
    {"read_with", read_type_with, kFastCall, nullptr},
}};

}  // namespace
}  // namespace ckgen::inline v1::detail

extern "C" void* ckgen_python_functions(void) {
  using ckgen::detail::methods;
  using ckgen::detail::Owned;
  if (PyTuple_Pack == nullptr) return nullptr;
  std::array<PyObject*, methods.size()> made{};
  bool all = true;
  for (std::size_t i = 0; i < methods.size(); ++i) {
    made[i] = PyCFunction_NewEx(&methods[i], nullptr, nullptr);
    all = all && made[i] != nullptr;
  }
  PyObject* const tuple = all ? PyTuple_Pack(6, made[0], made[1], made[2], made[3], made[4], made[5]) : nullptr;
  for (PyObject* one : made)
    if (one != nullptr) Py_DecRef(one);
  return tuple;
}
