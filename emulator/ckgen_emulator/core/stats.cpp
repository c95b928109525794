#include "stats.hpp"

namespace ckgen::emu {

void Stats::operator+=(const Stats& other) noexcept {
  for (std::size_t i = 0; i < kClasses; ++i) instructions[i] += other.instructions[i];
  global_read += other.global_read;
  global_written += other.global_written;
  atomics += other.atomics;
  lds_read += other.lds_read;
  lds_written += other.lds_written;
  lds_cycles += other.lds_cycles;
  lds_conflict_cycles += other.lds_conflict_cycles;
  groups += other.groups;
  waves += other.waves;
}

}  // namespace ckgen::emu
