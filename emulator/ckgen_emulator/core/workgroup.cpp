#include "workgroup.hpp"

#include <algorithm>
#include <cstring>

#include "private_segment.hpp"

namespace ckgen::emu {
namespace {

// kernel_code_properties
constexpr unsigned kPrivateSegmentBuffer = 0, kDispatchPtr = 1, kQueuePtr = 2, kKernargPtr = 3, kDispatchId = 4,
                   kFlatScratchInit = 5, kPrivateSegmentSize = 6;

unsigned bits(std::uint32_t word, unsigned low, unsigned count) {
  return word >> low & ((1u << count) - 1);
}

Mode initial_mode(std::uint32_t rsrc1) {
  const auto two = [&](unsigned at) { return static_cast<std::uint8_t>(bits(rsrc1, at, 2)); };
  return {
      two(12), two(14), two(16), two(18), bits(rsrc1, 21, 1) != 0, bits(rsrc1, 23, 1) != 0, bits(rsrc1, 26, 1) != 0};
}

/// SGPRs in their fixed order, each only if the descriptor wants it.
class ScalarSetup {
 public:
  explicit ScalarSetup(Wave& wave) : wave_(wave) {}
  void put(std::uint32_t value) {
    if (at_ >= kVccLo) return;
    wave_.s[at_] = value;
    wave_.shadow.scalar_written[at_] = true;
    ++at_;
  }
  void put64(std::uint64_t value) {
    put(static_cast<std::uint32_t>(value));
    put(static_cast<std::uint32_t>(value >> 32));
  }
  void skip(unsigned count) { at_ += count; }
  unsigned at() const { return at_; }

 private:
  Wave& wave_;
  unsigned at_ = 0;
};

void set_scalars(Wave& wave, const Launch& launch, const Workgroup& group) {
  const Kernel& kernel = launch.kernel;
  const bool has_pool = wave.scratch_base != 0;
  ScalarSetup setup(wave);
  const auto wanted = [&](unsigned bit) { return (kernel.properties >> bit & 1) != 0; };
  // What is not modelled stays unwritten, so that a checked run reports its use.
  if (wanted(kPrivateSegmentBuffer)) {
    for (const std::uint32_t word : scratch_resource()) has_pool ? setup.put(word) : setup.skip(1);
  }
  if (wanted(kDispatchPtr)) setup.skip(2);
  if (wanted(kQueuePtr)) setup.skip(2);
  if (wanted(kKernargPtr)) setup.put64(launch.kernarg);
  if (wanted(kDispatchId)) setup.put64(0);
  if (wanted(kFlatScratchInit)) has_pool ? setup.put64(kScratchPool) : setup.skip(2);
  if (wanted(kPrivateSegmentSize)) setup.put((kernel.scratch_bytes + 3) / 4 * 4);
  const unsigned user = bits(kernel.rsrc2, 1, 5);
  if (setup.at() < user) setup.skip(user - setup.at());
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (bits(kernel.rsrc2, 7 + axis, 1) != 0) setup.put(group.id[axis]);
  }
  if (bits(kernel.rsrc2, 10, 1) != 0) setup.put(0);
  if (has_pool && bits(kernel.rsrc2, 0, 1) != 0)
    setup.put(static_cast<std::uint32_t>(wave.scratch_base - kScratchPool));
  // FLAT_SCRATCH and XNACK_MASK, 102…105, and trap temporaries belong to the system.
  for (unsigned code = 102; code < 106; ++code) wave.shadow.scalar_written[code] = true;
  wave.shadow.scalar_written[kExecLo] = wave.shadow.scalar_written[kExecHi] = true;
}

/// v0 = x | y << 10 | z << 20 of the work item.
LaneMask set_work_items(Wave& wave, const Dispatch& dispatch) {
  const std::uint64_t threads = std::uint64_t{dispatch.block[0]} * dispatch.block[1] * dispatch.block[2];
  LaneMask exec = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t item = std::uint64_t{wave.index} * kLanes + lane;
    if (item >= threads) break;
    exec |= LaneMask{1} << lane;
    const auto x = static_cast<std::uint32_t>(item % dispatch.block[0]);
    const auto y = static_cast<std::uint32_t>(item / dispatch.block[0] % dispatch.block[1]);
    const auto z = static_cast<std::uint32_t>(item / dispatch.block[0] / dispatch.block[1]);
    wave.v[0][lane] = x | y << 10 | z << 20;
  }
  wave.shadow.written[0] = exec;
  return exec;
}

/// Never the start of the pool: code that forgets its wave's offset is to be found.
std::uint64_t scratch_base(const Launch& launch, std::uint64_t number) {
  if (launch.kernel.scratch_bytes == 0 || architected_flat_scratch(launch.chip)) return 0;
  return kScratchPool + (number + 1) * wave_scratch_bytes(launch.kernel);
}

void start_wave(Wave& wave, GroupStorage& group_storage, Launch& launch, std::uint32_t index) {
  WaveStorage& storage = group_storage.waves[index];
  const Kernel& kernel = launch.kernel;
  if (!storage.registers) storage.registers.reset(new LaneValues[kVectorRegisters]);
  const std::size_t scratch = std::size_t{kernel.scratch_bytes} * kLanes;
  if (scratch != 0 && !storage.scratch) storage.scratch.reset(new std::uint8_t[scratch]);
  wave = Wave{};
  wave.v = storage.registers.get();
  wave.scratch = storage.scratch.get();
  wave.scratch_base = scratch_base(launch, std::uint64_t{group_storage.slot} * group_storage.waves.size() + index);
  wave.index = index;
  wave.group = &group_storage.group;
  wave.launch = &launch;
  wave.next = launch.program.entry;
  wave.mode = initial_mode(kernel.rsrc1);
  const unsigned vgprs = std::min(kernel.accum_offset, 256u);
  const unsigned accumulators = std::min(kernel.vgprs > vgprs ? kernel.vgprs - vgprs : 0, 256u);
  std::memset(wave.v, 0, vgprs * sizeof(LaneValues));
  std::memset(wave.v + 256, 0, accumulators * sizeof(LaneValues));
  if (scratch != 0) std::memset(wave.scratch, 0, scratch);
  wave.set_pair(kExecLo, set_work_items(wave, launch.dispatch));
  set_scalars(wave, launch, group_storage.group);
}

}  // namespace

void start_group(GroupStorage& storage, Launch& launch, std::uint32_t linear) {
  Workgroup& group = storage.group;
  const std::uint32_t* grid = launch.dispatch.grid;
  group.launch = &launch;
  group.linear = linear;
  group.id[0] = linear % grid[0];
  group.id[1] = linear / grid[0] % grid[1];
  group.id[2] = linear / grid[0] / grid[1];
  group.xcd = linear % launch.chip.xcds;
  start_lds(group.lds, launch.kernel.lds_bytes + launch.dispatch.dynamic_lds);
  const std::uint64_t threads =
      std::uint64_t{launch.dispatch.block[0]} * launch.dispatch.block[1] * launch.dispatch.block[2];
  const std::size_t waves = static_cast<std::size_t>((threads + kLanes - 1) / kLanes);
  storage.waves.resize(waves);
  group.waves.resize(waves);
  for (std::size_t index = 0; index < waves; ++index) {
    if (!group.waves[index]) group.waves[index] = std::make_unique<Wave>();
    start_wave(*group.waves[index], storage, launch, static_cast<std::uint32_t>(index));
  }
  ++group.stats.groups;
  group.stats.waves += waves;
}

}  // namespace ckgen::emu
