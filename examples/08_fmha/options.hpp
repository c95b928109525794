// The command line: a signature, then key=value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ckgen/ckgen.hpp>

struct Lengths {
  std::int64_t q, k;
};

struct Options {
  std::string signature_text;
  ckgen::Signature signature;
  std::string device = "host";
  std::vector<Lengths> lengths = {{64, 64}};  // of each sequence
  ckgen::FmhaShape shape;                     // batch, lengths and pages are those of `lengths`
};

/// Nothing, or what is wrong with the command line: an unknown key or value, or a word that there are no operands of.
std::string read(int count, char** words, Options& options);
