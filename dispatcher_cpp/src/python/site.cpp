#include "src/python/site.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace ckgen::inline v1::detail {
namespace {

constexpr std::size_t kMessageBytes = 512;
constexpr std::size_t kUsualBlock = 1024;  // of one struct; groups have longer ones

bool is_apart(std::uint64_t a, std::uint64_t a_bytes, std::uint64_t b, std::uint64_t b_bytes) noexcept {
  return a + a_bytes <= b || b + b_bytes <= a;
}

ckgen_status run_with(const Site& site, unsigned char* block, const std::uint64_t* addresses, void* stream,
                      ckgen_message message) noexcept {
  std::copy(site.block.begin(), site.block.end(), block);
  for (const SitePatch& patch : site.patches) {
    const std::uint64_t value =
        patch.is_inside != 0 ? reinterpret_cast<std::uint64_t>(block) + patch.source : addresses[patch.source];
    std::memcpy(block + patch.at, &value, sizeof value);
  }
  if (site.run == nullptr) return site.pooled(site.dispatcher, site.plan, block, stream, message);
  void* const workspace = reinterpret_cast<void*>(addresses[site.workspace]);
  return site.run(site.dispatcher, site.plan, block, workspace, stream, message);
}

void raise(const Site& site, ckgen_status status, const char* text) noexcept {
  const Owned code(PyLong_FromLong(static_cast<long>(status)));
  const Owned said(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "replace"));
  if (!code || !said) return;
  const Owned failure(PyObject_CallFunctionObjArgs(site.fail, code.get(), said.get(), nullptr));
  if (!failure) return;
  const Owned type(PyObject_Type(failure.get()));
  PyErr_SetObject(type.get(), failure.get());
}

}  // namespace

bool is_current(const Site& site) noexcept {
  return site.generation == ckgen_generation(site.dispatcher);
}

bool takes(const Site& site, const std::uint64_t* addresses) noexcept {
  for (std::size_t i = 0; i < site.tensors.size(); ++i) {
    const SiteTensor& one = site.tensors[i];
    if (one.bytes == 0) continue;
    if (addresses[i] % one.align != 0) return false;
    if (one.is_written == 0) continue;
    for (std::size_t j = 0; j < site.tensors.size(); ++j)
      if (i != j && site.tensors[j].bytes != 0 &&
          !is_apart(addresses[i], one.bytes, addresses[j], site.tensors[j].bytes))
        return false;
  }
  return true;
}

bool launch(const Site& site, const std::uint64_t* addresses, void* stream) noexcept {
  alignas(16) std::array<unsigned char, kUsualBlock> usual;
  std::vector<unsigned char> larger;
  unsigned char* block = usual.data();
  if (site.block.size() > usual.size()) {
    try {
      larger.resize(site.block.size());
    } catch (...) {
      PyErr_NoMemory();
      return false;
    }
    block = larger.data();
  }
  std::array<char, kMessageBytes> text;
  text[0] = '\0';
  void* const thread = PyEval_SaveThread();
  const ckgen_status status = run_with(site, block, addresses, stream, {text.data(), text.size()});
  PyEval_RestoreThread(thread);
  if (status != CKGEN_OK) raise(site, status, text.data());
  return status == CKGEN_OK;
}

}  // namespace ckgen::inline v1::detail
