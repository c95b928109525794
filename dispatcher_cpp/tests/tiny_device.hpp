// GPU code for the tiny library, as a build would embed it, for the mock HIP runtime.
#pragma once

#include <elf.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <iterator>
#include <list>
#include <string>
#include <vector>

#include "backends/device/kernel_call.hpp"
#include "tiny_library.hpp"

namespace tiny {

/// What the tiny kernels take.
struct KernelArgs {
  const void* a;
  const void* b;
  void* c;
  std::int64_t m, n, k, ldc;
  std::uint32_t k_batch, cu_num;
  std::uint32_t arch;
};

/// The choice that the tiny instances make: one kernel that sets C, one that adds to it. `context`, if any, names
/// another kernel.
/// What every function that prepares a launch is given.
inline void expect_reset(const KernelCall& call) {
  EXPECT_EQ(call.symbol, nullptr);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(call.grid[i] == 1 && call.block[i] == 1 && call.cluster[i] == 1);
  EXPECT_TRUE(call.dynamic_lds == 0 && call.args_size == 0 && call.clear.rows == 0 && !call.clear_groups &&
              call.flags.rows == 0 && call.object == 0);
}

inline Status prepare(const Launch& launch, Arch arch, std::uint32_t cu_num, KernelCall& out) noexcept {
  expect_reset(out);
  const GemmArgs& args = *launch.args;
  if (args.lda % 8 != 0) return Status::error(StatusCode::unsupported, "lda %% 8 != 0");
  const KernelArgs own{args.a, args.b,   args.c,         args.m, args.n,
                       args.k, args.ldc, launch.k_batch, cu_num, static_cast<std::uint32_t>(arch)};
  const Tile tile = launch.instance->macro_tile;
  const char* symbol = launch.k_batch > 1 ? "tiny_add" : "tiny_set";
  const device::Extent grid{static_cast<std::uint64_t>((args.n + tile.n - 1) / tile.n),
                            static_cast<std::uint64_t>((args.m + tile.m - 1) / tile.m), launch.k_batch};
  const Status status = device::fill(out, symbol, grid, {256}, 16, own);
  if (status.ok() && launch.k_batch > 1) device::clear_c(out, launch);
  return status;
}

inline std::string image(Arch arch, const std::vector<std::string>& kernels) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = arch_info(arch).vendor == Vendor::nvidia ? EM_CUDA : EM_AMDGPU;
  std::string texts(arch_name(arch));
  texts += '\0';
  for (const std::string& kernel : kernels) texts += kernel + '\0';
  texts += std::string(2000, 'x') + '\0';  // something to compress
  const auto size = static_cast<std::uint32_t>(sizeof header + 4 + texts.size());
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
         std::string(reinterpret_cast<const char*>(&size), 4) + texts;
}

/// A gzip stream; at level 0 the text stands in it as it is.
inline std::vector<unsigned char> compressed(std::string text, int level = 9) {
  z_stream stream{};
  deflateInit2(&stream, level, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY);
  std::vector<unsigned char> bytes(deflateBound(&stream, text.size()));
  stream.next_in = reinterpret_cast<unsigned char*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = bytes.data();
  stream.avail_out = static_cast<uInt>(bytes.size());
  deflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

/// A DeviceLibrary with what it points to; stays where it is made.
class Code {
 public:
  Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  /// Code of the instance `id` for `archs`, with these kernels in each object.
  Code& add(std::uint64_t id, const std::vector<Arch>& archs, PrepareFn prepare_fn = prepare,
            const std::vector<std::string>& kernels = {"tiny_set", "tiny_add"}) {
    codes_.push_back({id, prepare_fn, nullptr, 0, nullptr});
    pointers_.push_back(&codes_.back());
    objects_.emplace_back();
    for (const Arch arch : archs) beside(arch, kernels);
    return *this;
  }
  /// One more object of the code that was added last.
  Code& beside(Arch arch, const std::vector<std::string>& kernels) {
    const std::string plain = image(arch, kernels);
    const std::vector<unsigned char>& packed = bytes_.emplace_back(compressed(plain));
    std::vector<CodeObject>& objects = objects_.back();
    objects.push_back({arch, packed.data(), packed.size(), plain.size()});
    codes_.back().objects = objects.data();
    codes_.back().object_count = static_cast<std::uint32_t>(objects.size());
    return *this;
  }

  DeviceLibrary library() const {
    return {"tiny_gpu", CKGEN_RUNTIME_ABI, pointers_.data(), static_cast<std::uint32_t>(pointers_.size())};
  }
  DeviceCode& code(std::size_t index) { return *std::next(codes_.begin(), static_cast<std::ptrdiff_t>(index)); }
  CodeObject& object(std::size_t index) { return objects_.front()[index]; }
  std::vector<unsigned char>& bytes(std::size_t index) {
    return *std::next(bytes_.begin(), static_cast<std::ptrdiff_t>(index));
  }

 private:
  std::list<std::vector<unsigned char>> bytes_;
  std::list<std::vector<CodeObject>> objects_;
  std::list<DeviceCode> codes_;
  std::vector<const DeviceCode*> pointers_;
};

}  // namespace tiny
