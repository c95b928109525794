// What is wrong with the code that runs, or with how it was launched.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace ckgen::emu {

struct Inst;
struct Wave;

/// Rules, by what they are called in reports and docs/emulator.md.
enum class Rule : std::uint8_t {
  unsupported,    // an instruction, mode or launch that is not executed
  bad_code,       // no instruction begins here, a branch leaves the text, a register is out of the file
  out_of_bounds,  // an access outside of every allocation, of LDS, of scratch
  misaligned,
  uninitialised,  // a register, LDS or memory that nothing has written
  before_wait,    // a result used, or overwritten, before the s_waitcnt that guarantees it
  hazard,         // wait states that the hardware does not insert
  lds_race,       // two waves, no barrier between
  global_race,    // two workgroups, no release and acquire between
  no_progress,    // workgroups that wait for others which can never be resident
};
constexpr unsigned kRules = 10;
const char* rule_name(Rule rule) noexcept;

struct Finding {
  Rule rule;
  std::uint32_t address;  // of the instruction, in the code object's image
  std::string instruction;
  std::uint32_t group[3];
  std::uint32_t wave;
  std::int32_t lane;    // -1: all, or none in particular
  std::uint64_t count;  // how often at this instruction
  std::string what;
};

/// One finding per rule and instruction, the first that was seen, with a count. Thread-safe.
class Findings {
 public:
  explicit Findings(std::size_t limit) noexcept : limit_(limit) {}

  void add(Rule rule, const Wave& wave, const Inst& inst, int lane, std::string what);
  /// For what no instruction is to blame for.
  void add(Rule rule, std::string what);

  /// Whether so many instructions are wrong that going on tells nothing.
  bool full() const noexcept;
  std::vector<Finding> take();

 private:
  mutable std::mutex mutex_;
  std::vector<Finding> all_;
  std::size_t limit_;
};

}  // namespace ckgen::emu
