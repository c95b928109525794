// Every fuzz target of the program: its seeds, the inputs that once were wrong, and the same few mutations in every
// run.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "fuzz.hpp"

namespace {

using fuzz::Target;

constexpr int kMutations = 400;

void run(const Target& target, const std::string& input) {
  const std::vector<std::uint8_t> exact(input.begin(), input.end());  // on the heap: sanitizers see its ends
  target.run({exact.data(), exact.size()});
}

std::string mutated(std::string text, std::mt19937& random, const std::vector<std::string>& seeds) {
  const auto below = [&](std::size_t count) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(count, 1));
  };
  for (std::size_t left = 1 + below(4); left > 0; --left) {
    const std::size_t at = below(text.size() + 1);
    switch (random() % 6) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ 1 << random() % 8);
        break;
      case 1: text.insert(at, 1, static_cast<char>(random())); break;
      case 2: text.erase(at, 1 + below(16)); break;
      case 3: text.insert(at, text.substr(at, below(64))); break;
      case 4:
        for (std::size_t i = at; i < std::min(text.size(), at + 1 + below(8)); ++i)
          text[i] = static_cast<char>(random());
        break;
      default: {
        const std::string& other = seeds[below(seeds.size())];
        text = text.substr(0, at) + other.substr(below(other.size()));
      }
    }
  }
  return text;
}

class Fuzz : public ::testing::TestWithParam<const Target*> {};

TEST_P(Fuzz, SeedsAndMutationsAreUnderstoodOrRefused) {
  const std::vector<std::string> seeds = GetParam()->seeds();
  for (const std::string& seed : seeds) run(*GetParam(), seed);
  const char* const many = std::getenv("CKGEN_FUZZ_MUTATIONS");  // to explore without libFuzzer
  const int count = many != nullptr ? std::atoi(many) : kMutations;
  std::mt19937 random(static_cast<unsigned>(count));
  for (int i = 0; i < count; ++i) run(*GetParam(), mutated(seeds[random() % seeds.size()], random, seeds));
}

TEST_P(Fuzz, WhatOnceWasWrongStaysRight) {
  const std::filesystem::path folder = std::filesystem::path(CKGEN_FUZZ_CORPUS) / GetParam()->name;
  if (!std::filesystem::is_directory(folder)) return;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ostringstream text;
    text << std::ifstream(file.path(), std::ios::binary).rdbuf();
    run(*GetParam(), text.str());
  }
}

TEST(FuzzTargets, AreLinkedIntoTheProgram) {
  EXPECT_FALSE(fuzz::targets().empty());
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz, ::testing::ValuesIn(fuzz::targets()),
                         [](const auto& of) { return std::string(of.param->name); });

}  // namespace
