#include "src/gpu/unpack.hpp"

#if CKGEN_HAS_ZLIB

#include <elf.h>
#include <zlib.h>

#include <cstring>
#include <limits>
#include <new>

namespace ckgen::inline v1::detail {
namespace {

bool is_code_object(const unsigned char* bytes, std::size_t size, Vendor vendor) noexcept {
  Elf64_Ehdr header;
  if (size < sizeof header) return false;
  std::memcpy(&header, bytes, sizeof header);
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_machine == (vendor == Vendor::nvidia ? EM_CUDA : EM_AMDGPU);
}

constexpr int kGzip = 31;  // of inflateInit2: a gzip stream with the largest window

/// What zlib says of a gzip stream of exactly `size` bytes that gives exactly `room`: Z_OK, Z_STREAM_ERROR where either
/// is another.
int inflate_gzip(const unsigned char* bytes, std::size_t size, unsigned char* out, std::size_t room) noexcept {
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  if (size > kMost || room > kMost) return Z_STREAM_ERROR;
  z_stream stream{};
  stream.next_in = const_cast<unsigned char*>(bytes);  // zlib reads it only
  stream.avail_in = static_cast<uInt>(size);
  stream.next_out = out;
  stream.avail_out = static_cast<uInt>(room);
  int code = inflateInit2(&stream, kGzip);
  if (code != Z_OK) return code;
  code = inflate(&stream, Z_FINISH);
  const bool is_whole = stream.avail_in == 0 && stream.avail_out == 0;
  inflateEnd(&stream);
  if (code == Z_STREAM_END) return is_whole ? Z_OK : Z_STREAM_ERROR;
  return code == Z_OK ? Z_BUF_ERROR : code;
}

}  // namespace

bool unpacks() noexcept {
  return true;
}

Status unpack(const CodeObject& object, std::unique_ptr<unsigned char[]>& out) noexcept {
  std::unique_ptr<unsigned char[]> bytes(new (std::nothrow) unsigned char[object.unpacked_size]);
  if (!bytes) return Status::error(StatusCode::internal, "no memory for %zu bytes of GPU code", object.unpacked_size);
  const int code = inflate_gzip(object.bytes, object.size, bytes.get(), object.unpacked_size);
  if (code != Z_OK)
    return Status::error(StatusCode::internal, "the GPU code is damaged: %s",
                         code == Z_STREAM_ERROR ? "its size is another one" : zError(code));
  if (!is_code_object(bytes.get(), object.unpacked_size, arch_info(object.arch).vendor))
    return Status::error(StatusCode::internal, "the GPU code is no ELF file of a GPU of its vendor");
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
