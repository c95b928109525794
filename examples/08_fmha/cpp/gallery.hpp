// What the programs of the gallery share: options, tensors, and attention by its definition.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

#include <ckgen/device.hpp>
#include <ckgen/dispatcher.hpp>
#include <ckgen/fmha_builder.hpp>

using ckgen::DType;

/// --target, --batch, --heads Q[,K], --seqlen Q[,K], --hdim Q[,V]; `usual` is what a program has without them.
struct Asked {
  const char* target = "host";
  std::int64_t batch = 2;
  std::int32_t heads_q = 4, heads_k = 4;
  std::int64_t seqlen_q = 48, seqlen_k = 48;
  std::int32_t hdim_q = 64, hdim_v = 64;
};

/// Exit code 2 for another word, or a value that is none.
Asked read(int count, char** words, Asked usual = {});

/// Types and sizes of what was asked.
ckgen::FmhaBuilder said(const Asked& asked, DType type);

/// Elements of a type: multiples of 1/8 from -1 to 7/8, which every type holds, by the seed.
class Tensor {
 public:
  Tensor(DType type, std::int64_t count, std::uint64_t seed);
  void* data() noexcept { return bytes_.data(); }
  const void* data() const noexcept { return bytes_.data(); }
  double at(std::int64_t element) const noexcept;
  bool operator==(const Tensor& other) const noexcept { return bytes_ == other.bytes_; }

 private:
  DType type_;
  std::vector<unsigned char> bytes_;
};

/// Q, K, V and O as [batch][row][head][D], and arguments that point at them. Neither copied nor moved.
struct Operands {
  explicit Operands(const ckgen::Problem& problem);
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  Tensor q, k, v, o;
  ckgen::FmhaArgs args;
};

/// The library on a device. `need` ends the program with exit code 2 and the reason where something is refused.
class Gallery {
 public:
  explicit Gallery(const Asked& asked);

  static void need(const ckgen::Status& status);
  template <class T>
  static T need(const ckgen::Result<T>& found) {
    need(found.status());
    return *found;
  }

  ckgen::Plan plan(const ckgen::Problem& problem) const { return need(dispatcher.plan(problem, device)); }
  void run(const ckgen::Plan& plan, const ckgen::FmhaArgs& args) const { need(dispatcher.run(plan, args, nullptr)); }

  /// Runs forward, says which kernel did and how far O and lse are from the definition; 1 where that is too far.
  int check(const char* what, const ckgen::Problem& problem, const ckgen::FmhaArgs& args) const;
  int check(const char* what, const ckgen::Plan& plan, const ckgen::FmhaArgs& args) const;

  ckgen::Registry registry;
  ckgen::Dispatcher dispatcher;
  ckgen::Device device;
};

/// The largest error of O and lse against ckgen/fmha.hpp's formulas in double, of given arguments; not of philox.
double error(const ckgen::Problem& problem, const ckgen::FmhaArgs& args);

/// Says whether something holds; 1 where it does not.
int expect(const char* what, bool holds);
