#include "src/gpu/unpack.hpp"

#if CKGEN_HAS_ZLIB

#include <elf.h>
#include <zlib.h>

#include <cstring>
#include <new>

namespace ckgen::inline v1::detail {
namespace {

bool is_code_object(const unsigned char* bytes, std::size_t size) noexcept {
  Elf64_Ehdr header;
  if (size < sizeof header) return false;
  std::memcpy(&header, bytes, sizeof header);
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_machine == EM_AMDGPU;
}

}  // namespace

bool unpacks() noexcept {
  return true;
}

Status unpack(const CodeObject& object, std::unique_ptr<unsigned char[]>& out) noexcept {
  std::unique_ptr<unsigned char[]> bytes(new (std::nothrow) unsigned char[object.unpacked_size]);
  if (!bytes) return Status::error(StatusCode::internal, "no memory for %zu bytes of GPU code", object.unpacked_size);
  uLongf written = object.unpacked_size;
  uLong read = object.size;
  const int code = uncompress2(bytes.get(), &written, object.bytes, &read);
  if (code != Z_OK || written != object.unpacked_size || read != object.size)
    return Status::error(StatusCode::internal, "the GPU code is damaged: %s",
                         code != Z_OK ? zError(code) : "its size is another one");
  if (!is_code_object(bytes.get(), object.unpacked_size))
    return Status::error(StatusCode::internal, "the GPU code is no ELF file of an AMD GPU");
  out = std::move(bytes);
  return Status::success();
}

}  // namespace ckgen::inline v1::detail

#else

namespace ckgen::inline v1::detail {

bool unpacks() noexcept {
  return false;
}

Status unpack(const CodeObject&, std::unique_ptr<unsigned char[]>&) noexcept {
  return Status::error(StatusCode::unsupported, "ckgen was built without zlib");
}

}  // namespace ckgen::inline v1::detail

#endif
