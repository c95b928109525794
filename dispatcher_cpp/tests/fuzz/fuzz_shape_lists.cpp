// Shape lists that others wrote before: nothing that stands in one is lost, and a shape is appended at most once.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fuzz.hpp"
#include "src/gemm/shape_list.hpp"
#include "src/select/recorder.hpp"
#include "tiny_library.hpp"

namespace fuzz {
namespace {

std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Of another process each time: a recorder knows what it wrote.
void record(const std::string& folder, std::int64_t m) {
  ckgen::detail::Recorder(folder).record(
      ckgen::detail::shape_list(tiny::fp16, ckgen::Arch::gfx942, 304, {m, 16, 32, 0}));
}

void run(Bytes bytes) {
  const std::filesystem::path input = file_of(bytes), folder = input.parent_path() / "lists";
  std::filesystem::create_directories(folder);
  const auto list = ckgen::detail::shape_list(tiny::fp16, ckgen::Arch::gfx942, 304, {1, 16, 32, 0});
  const std::filesystem::path place = folder / list.file;
  std::filesystem::rename(input, place);
  record(folder.string(), 1);
  const std::string once = content(place);
  expect(once.substr(0, bytes.size()) == text_of(bytes), "what stood in a list still does");
  record(folder.string(), 1);
  expect(content(place) == once, "a shape is appended once");
}

std::vector<std::string> seeds() {
  return {"", "M,N,K\n", "M,N,K\n1,16,32\n", "M, N ,K\r\n 1 , 16,32\r\n2,3,4", "B,M,N,K\n1,2,3,4\n"};
}

}  // namespace

const Target shape_lists{"shape_lists", run, seeds};

}  // namespace fuzz
