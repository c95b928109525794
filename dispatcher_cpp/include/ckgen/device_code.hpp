// GPU code of instances: code objects as bytes, and the functions that prepare a launch of their kernels.
//
// Constants and plain functions that a built library holds beside its Library and hands to Registry::attach. Nothing
// here names a GPU runtime or a kernel library.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ckgen/arch_data.hpp>
#include <ckgen/instance.hpp>
#include <ckgen/library.hpp>
#include <ckgen/status.hpp>

namespace ckgen {
inline namespace v1 {

/// One code object (an ELF file for one arch), compressed as a gzip stream (RFC 1952) that ends with `size`.
struct CodeObject {
  Arch arch;
  const unsigned char* bytes;
  std::size_t size;
  std::size_t unpacked_size;  // of the ELF file; anything else is refused at load
};

/// Code objects of one arch: of a kernel that its vendor ships, and of kernels that were compiled to run around it.
inline constexpr std::uint32_t kMaxCodeObjects = 2;

/// Bytes of arguments: those of ck and ck_tile take 100 to 400, those of CUTLASS with their TMA descriptors 1,800.
inline constexpr std::uint32_t kMaxKernelArgs = 4096;
inline constexpr std::size_t kKernelArgsAlignment = 128;

/// Bytes that one launch of an upload kernel carries.
inline constexpr std::uint32_t kUploadBytes = 896;

/// The one argument, by value, of a kernel that writes what it is launched with to memory of the device: one workgroup
/// of kUploadLanes, whose lane i copies payload[i] to to[i] below `words`.
struct Upload {
  std::uint32_t* to;
  std::uint32_t words;
  std::uint32_t payload[kUploadBytes / sizeof(std::uint32_t)];
};
inline constexpr std::uint32_t kUploadLanes = 256;

/// Memory of the device to be zeroed on the stream before the kernel runs: `batches` times `rows` times `width` bytes,
/// `batch_pitch` and `pitch` bytes apart. No rows: nothing.
struct Clear {
  void* memory;
  std::size_t pitch;
  std::size_t width;
  std::size_t rows;
  std::size_t batches = 1;
  std::size_t batch_pitch = 0;
};

/// One launch, ready for the GPU runtime. Not initialised: whoever prepares it calls reset() first, which leaves
/// the room of `args` alone.
struct KernelCall {
  const char* symbol;         // its name in the code object; read during the launch only
  std::uint32_t grid[3];      // workgroups, each at least 1
  std::uint32_t block[3];     // work-items, each at least 1
  std::uint32_t cluster[3];   // workgroups that run beside one another, whole numbers of which make up the grid
  std::uint32_t dynamic_lds;  // bytes; shared memory where the vendor calls it so
  std::uint32_t args_size;    // bytes of `args` that the kernel takes
  Clear clear;                // refused where the plan has no reset_output stage
  bool clear_groups;          // the same for C of every group, whose sizes the host knows
  std::uint8_t object;        // which of the arch's code objects has the kernel, in their order
  Clear flags;                // of Launch::workspace; no stage of the plan says it
  // The kernel's arguments as its kernarg segment lays them out; on NVIDIA its one argument.
  alignas(kKernelArgsAlignment) unsigned char args[kMaxKernelArgs];

  void reset() noexcept {
    symbol = nullptr;
    for (int i = 0; i < 3; ++i) grid[i] = block[i] = cluster[i] = 1;
    dynamic_lds = args_size = 0;
    clear = flags = Clear{nullptr, 0, 0, 0};
    clear_groups = false;
    object = 0;
  }
};

/// Decides which kernel of the instance `launch` takes on `arch` and fills `out` by the operation's own rules; refuses
/// (unsupported, with its reason) what they refuse. Neither launches nor allocates nor follows a pointer of the
/// arguments, but for the arrays of GroupedArgs where they are in host memory. Thread-safe.
using PrepareFn = Status (*)(const Launch& launch, Arch arch, std::uint32_t cu_num, KernelCall& out) noexcept;

/// Bytes of device memory that Launch::workspace must have. Pure, thread-safe.
using DeviceWorkspaceFn = std::size_t (*)(const InstanceDesc&, const Problem&, std::uint32_t k_batch, Arch arch,
                                          std::uint32_t cu_num) noexcept;

/// Where a FillTableFn goes on, all its own but `offset`.
struct TableCursor {
  std::uint64_t offset = 0;  // bytes written so far
  std::int64_t group = 0;
  std::int64_t work = 0;
};

/// Writes the next `bytes` of the table of launch.grouped's groups, which are in host memory, to `out` and moves the
/// cursor on by them. Called with the bytes of the table in order, a multiple of 16 at a time but for the last. Refuses
/// what PrepareFn does. Thread-safe.
using FillTableFn = Status (*)(const Launch& launch, Arch arch, std::uint32_t cu_num, TableCursor& cursor, void* out,
                               std::uint32_t bytes) noexcept;

/// How the table of groups that a grouped kernel reads gets to Launch::group_table, device memory aligned to 64 bytes:
/// by an upload stage of the plan, of kernels in the same code object.
struct GroupTableCode {
  std::uint64_t (*bytes)(const InstanceDesc&, const Problem&, std::uint32_t k_batch) noexcept;  // a multiple of 4
  // For sizes that the host knows; both or none. They travel as arguments: neither staging memory nor a
  // synchronisation, so a stream may be captured.
  FillTableFn fill;
  const char* upload;  // the symbol of a kernel of Upload
  // For sizes on the device, or null: prepares the launch of a kernel that makes the table from launch.grouped's
  // arrays.
  PrepareFn build;
};

/// `from`, rows x columns of type `type`, to be written as `to` in the type, and with the scales, of A of a problem.
struct Quantize {
  const Problem* problem;  // of the kernel that reads them; its m and k need not be rows and columns
  const void* from;        // rows without gaps
  DType type;
  void* to;      // rows without gaps
  void* scales;  // as the kernel reads them
  std::int64_t rows;
  std::int64_t columns;
  bool shuffled;
  SortedTokens sorted;  // the rows' order by expert, for kernels that read scales in it
};
/// Prepares the launch of a kernel that does so, as PrepareFn does.
using PrepareQuantizeFn = Status (*)(const Quantize& work, Arch arch, std::uint32_t cu_num, KernelCall& out) noexcept;

/// Kernels in the code object of a part of a MoE layer that a plan of the whole layer needs beside the parts.
struct MoeStages {
  // Of gate_up: writes launch.moe->sorted from its topk_ids and topk_weights, tokens and Routing being the problem's.
  PrepareFn sort = nullptr;
  DeviceWorkspaceFn sort_workspace = nullptr;
  PrepareQuantizeFn quantize = nullptr;  // of down, where its A is of another type than gate_up's C
  // Of a down that writes a row per token and slot, token * top_k + slot, to launch.workspace: their bytes, zeroed
  // before it, and the kernel behind it that adds each token's rows to C. Both or none; DeviceCode::workspace is null.
  DeviceWorkspaceFn slots = nullptr;
  PrepareFn add_slots = nullptr;
};

/// Kernels in the code objects of an attention instance around its own, which writes to Launch::workspace what they
/// read, or the other way round. DeviceCode::workspace is null.
struct FmhaStages {
  // Bytes of Launch::workspace. Forward: of partial results of splits of KV; 0: the kernel writes O itself, nothing
  // follows it.
  DeviceWorkspaceFn partials = nullptr;
  PrepareFn combine = nullptr;  // of forward, what reads them
  // Of backward, see FmhaStage; sum_heads null: the kernel writes dK and dV itself. sums: bytes at the beginning of
  // Launch::workspace that the kernel adds to, zeroed before it, and convert_dq what reads them; or dq, where the
  // kernel leaves dQ to one of its own. dbias and dsink null: the kernel writes them, or there are none.
  DeviceWorkspaceFn sums = nullptr;
  PrepareFn dot_do_o = nullptr;
  PrepareFn sum_heads = nullptr;
  PrepareFn convert_dq = nullptr;
  PrepareFn dq = nullptr;
  PrepareFn dbias = nullptr;
  PrepareFn dsink = nullptr;
};

/// The GPU code of one instance.
struct DeviceCode {
  std::uint64_t id;  // InstanceDesc::id
  PrepareFn prepare;
  const CodeObject* objects;  // at most kMaxCodeObjects per arch
  std::uint32_t object_count;
  DeviceWorkspaceFn workspace;             // null: none is needed
  const GroupTableCode* groups = nullptr;  // of op grouped_gemm, where it must not be null
  const MoeStages* moe = nullptr;          // of a part of a MoE layer; null where it has none of them
  const FmhaStages* fmha = nullptr;        // of attention with splits of KV or backward; null: one kernel is all
};

/// What a built library hands to Registry::attach. `abi` is the CKGEN_RUNTIME_ABI that it was compiled with.
struct DeviceLibrary {
  const char* name;
  std::uint32_t abi;
  const DeviceCode* const* codes;
  std::uint32_t count;
};

}  // namespace v1
}  // namespace ckgen
