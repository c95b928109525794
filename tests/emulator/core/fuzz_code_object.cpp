// Code objects as the emulator reads them: what they name lies inside of them.
#include <fstream>
#include <sstream>

#include "fuzz.hpp"
#include "kernel.hpp"

namespace fuzz::fuzz_code_object {
namespace {

void run(Bytes bytes) {
  std::string error;
  const ckgen::emu::CodeObject object = ckgen::emu::read_code_object(bytes, error);
  expect(error.empty() == !object.processor.empty(), "a code object has a processor, or an error");
  for (const ckgen::emu::Kernel& kernel : object.kernels) {
    expect(kernel.text.size() <= bytes.size(), "text lies in the file");
    const std::uint64_t at = kernel.entry - kernel.text_start;
    expect(kernel.entry >= kernel.text_start && at + 4 <= kernel.text.size(), "an entry lies in its text");
    expect(std::uint64_t{kernel.text_start} + kernel.text.size() <= object.image.size(), "text lies in the image");
  }
}

std::vector<std::string> seeds() {
  std::vector<std::string> found;
  for (const char* name : {"one_kernel", "no_arguments"}) {
    std::ostringstream text;
    text << std::ifstream(std::string(CKGEN_FUZZ_CORPUS "/code_object/") + name, std::ios::binary).rdbuf();
    found.push_back(text.str());
    expect(!found.back().empty(), "a seed of code objects is there");
  }
  return found;
}

}  // namespace

const Target code_object{"code_object", run, seeds};

}  // namespace fuzz::fuzz_code_object
