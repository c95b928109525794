#include "trace.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "launch.hpp"
#include "text.hpp"

namespace ckgen::emu {

std::unique_ptr<Trace> Trace::open(const std::string& path) {
  if (path.empty()) return nullptr;
  std::FILE* file = std::fopen(path.c_str(), "ab");
  if (file == nullptr) throw std::runtime_error("cannot write the trace " + path + ": " + std::strerror(errno));
  return std::unique_ptr<Trace>(new Trace(file));
}

Trace::~Trace() {
  std::fclose(file_);
}

void Trace::executed(const Wave& wave, const Inst& inst) {
  const std::string text = text_of(inst);
  const std::uint32_t* group = wave.group->id;
  const std::lock_guard lock(mutex_);
  std::fprintf(file_, "%u,%u,%u %u %x %s\n", group[0], group[1], group[2], wave.index, inst.address, text.c_str());
}

}  // namespace ckgen::emu
