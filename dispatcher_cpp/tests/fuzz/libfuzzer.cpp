// libFuzzer's entry to the program's one target; where CKGEN_FUZZ_SEEDS names a folder, the target's seeds are written
// there.
#include "fuzz.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* folder = std::getenv("CKGEN_FUZZ_SEEDS");
  if (folder == nullptr) return 0;
  int number = 0;
  for (const std::string& seed : fuzz::targets().front()->seeds()) {
    std::FILE* file = std::fopen((std::string(folder) + "/seed" + std::to_string(number++)).c_str(), "wb");
    fuzz::expect(file != nullptr, "a seed can be written");
    std::fwrite(seed.data(), 1, seed.size(), file);
    std::fclose(file);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::targets().front()->run({data, size});
  return 0;
}
