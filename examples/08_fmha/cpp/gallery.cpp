#include "gallery.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>

#include <ckgen/codecs.hpp>
#include <gallery_kernels/register.hpp>

namespace {

[[noreturn]] void usage(const char* word) {
  std::fprintf(stderr, "%s? --target host|gfx942:304 --batch N --heads Q[,K] --seqlen Q[,K] --hdim Q[,V]\n", word);
  std::exit(2);
}

template <class Number>
Number number(std::string_view text, const char* word) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1) usage(word);
  return value;
}

/// "8,2", or "8" for both.
template <class Number>
void pair_of(std::string_view text, const char* word, Number& first, Number& second) {
  const std::size_t comma = text.find(',');
  first = number<Number>(text.substr(0, comma), word);
  second = comma == std::string_view::npos ? first : number<Number>(text.substr(comma + 1), word);
}

ckgen::Registry registered() {
  ckgen::Registry registry;
  Gallery::need(gallery_kernels::register_all(registry));
  return registry;
}

double value(DType type, const void* elements, std::int64_t at) {
  const std::int64_t width = ckgen::bits(type) / 8;
  std::uint32_t code = 0;
  std::memcpy(&code, static_cast<const unsigned char*>(elements) + at * width, static_cast<std::size_t>(width));
  float found = 0;
  if (type != DType::fp32) return static_cast<double>(ckgen::decode(type, code));
  std::memcpy(&found, &code, sizeof found);
  return static_cast<double>(found);
}

/// One sequence of a problem, by the definition.
struct Sequence {
  const ckgen::Problem& problem;
  const ckgen::FmhaArgs& args;
  std::int64_t b;

  const ckgen::FmhaShape& x = problem.fmha();
  const ckgen::FmhaTraits& traits = problem.signature().fmha;

  std::int64_t rows() const { return traits.varlen ? args.seqstart_q[b + 1] - args.seqstart_q[b] : x.seqlen_q; }
  std::int64_t keys() const {
    if (args.kv_indptr != nullptr)
      return (args.kv_indptr[b + 1] - args.kv_indptr[b] - 1) * std::int64_t{x.page_size} + args.kv_last_page[b];
    if (args.seqlen_k != nullptr) return args.seqlen_k[b];
    return traits.varlen ? args.seqstart_k[b + 1] - args.seqstart_k[b] : x.seqlen_k;
  }
  std::int64_t at_q(const ckgen::FmhaStrides& strides, std::int64_t head, std::int64_t i) const {
    const std::int64_t first = traits.varlen ? args.seqstart_q[b] * strides.row : b * strides.batch;
    return first + i * strides.row + head * strides.head;
  }
  std::int64_t at_k(const ckgen::FmhaStrides& strides, std::int64_t head, std::int64_t j) const {
    std::int64_t first = b * strides.batch;
    if (x.page_size != 0) {
      const std::int64_t place = j / x.page_size;
      const std::int32_t page = args.block_table != nullptr ? args.block_table[b * args.block_table_stride + place]
                                                            : args.kv_pages[args.kv_indptr[b] + place];
      first = page * strides.batch, j %= x.page_size;
    } else if (traits.varlen) {
      first = args.seqstart_k[b] * strides.row;
    }
    return first + j * strides.row + head * strides.head;
  }
  bool visible(std::int64_t i, std::int64_t j) const {
    if (!traits.masked) return true;
    const std::int64_t at = i + (x.corner == ckgen::FmhaCorner::top_left ? 0 : keys() - rows());
    const bool before_end = x.window_right < 0 || j <= at + x.window_right;
    return before_end && (x.window_left < 0 || j >= at - x.window_left || j < x.sink_tokens);
  }
  double score(std::int64_t head, std::int64_t i, std::int64_t j) const {
    const std::int64_t q = at_q(args.q_strides, head, i), k = at_k(args.k_strides, head / (x.heads_q / x.heads_k), j);
    double sum = 0;
    for (std::int64_t d = 0; d < x.hdim_q; ++d)
      sum += value(problem.signature().a, args.q, q + d) * value(problem.signature().b, args.k, k + d);
    sum *= static_cast<double>(args.scale);
    if (args.q_descale != nullptr) sum *= static_cast<double>(*args.q_descale * *args.k_descale);
    if (traits.softcap) sum = args.softcap * std::tanh(sum / args.softcap);
    if (traits.bias == ckgen::FmhaBias::elementwise)
      sum += value(problem.signature().a, args.bias, at_q(args.bias_strides, head, i) + j);
    if (traits.bias == ckgen::FmhaBias::alibi)
      sum -= static_cast<const float*>(args.bias)[b * args.bias_strides.batch + head * args.bias_strides.head] *
             static_cast<double>(std::abs(i + keys() - rows() - j));
    return sum;
  }
  double kept(std::int64_t head, std::int64_t i, std::int64_t j) const {
    if (args.rand_val == nullptr) return 1;
    const bool keep = args.rand_val[at_q(args.rand_val_strides, head, i) + j] <= std::floor((1 - args.p_drop) * 255);
    return keep ? 1 / (1 - static_cast<double>(args.p_drop)) : 0;
  }

  double error_of_row(std::int64_t head, std::int64_t i) const {
    const double hidden = -std::numeric_limits<double>::infinity();
    std::vector<double> weights;
    double most = args.sink != nullptr ? static_cast<double>(args.sink[head]) : hidden;
    for (std::int64_t j = 0; j < keys(); ++j) {
      weights.push_back(visible(i, j) ? score(head, i, j) : hidden);
      most = std::max(most, weights.back());
    }
    double sum = args.sink != nullptr ? std::exp(args.sink[head] - most) : 0;
    for (double& weight : weights) sum += weight = weight == hidden ? 0 : std::exp(weight - most);
    const double descale = args.v_descale != nullptr ? static_cast<double>(*args.v_descale) : 1;
    std::vector<double> want(static_cast<std::size_t>(x.hdim_v));
    for (std::int64_t j = 0; j < keys(); ++j) {
      const double weight = weights[static_cast<std::size_t>(j)] * kept(head, i, j) * descale;
      const std::int64_t v = at_k(args.v_strides, head / (x.heads_q / x.heads_k), j);
      for (std::size_t d = 0; weight != 0 && d < want.size(); ++d)
        want[d] += weight * value(problem.signature().b, args.v, v + static_cast<std::int64_t>(d));
    }
    double found = 0;
    for (std::size_t d = 0; d < want.size(); ++d) {
      const std::int64_t o = at_q(args.o_strides, head, i) + static_cast<std::int64_t>(d);
      const double off = std::abs(value(problem.signature().c, args.o, o) - (sum > 0 ? want[d] / sum : 0));
      if (!(off <= found)) found = off;  // a NaN stays
    }
    if (args.lse != nullptr) {
      const std::int64_t row = traits.varlen ? args.seqstart_q[b] + i : b * args.lse_batch_stride + i;
      const auto lse = static_cast<double>(args.lse[head * args.lse_head_stride + row]);
      const double right = sum > 0 ? most + std::log(sum) : hidden;
      if (lse != right && !(std::abs(lse - right) <= found)) found = std::abs(lse - right);
    }
    return found;
  }
};

}  // namespace

Asked read(int count, char** words, Asked usual) {
  for (int i = 1; i < count; i += 2) {
    const std::string_view word = words[i];
    if (i + 1 == count) usage(words[i]);
    const char* const text = words[i + 1];
    if (word == "--target")
      usual.target = text;
    else if (word == "--batch")
      usual.batch = number<std::int64_t>(text, words[i]);
    else if (word == "--heads")
      pair_of(text, words[i], usual.heads_q, usual.heads_k);
    else if (word == "--seqlen")
      pair_of(text, words[i], usual.seqlen_q, usual.seqlen_k);
    else if (word == "--hdim")
      pair_of(text, words[i], usual.hdim_q, usual.hdim_v);
    else
      usage(words[i]);
  }
  return usual;
}

ckgen::FmhaBuilder said(const Asked& asked, DType type) {
  ckgen::FmhaBuilder builder;
  builder.types(type).batch(asked.batch).heads(asked.heads_q, asked.heads_k);
  return builder.seqlen(asked.seqlen_q, asked.seqlen_k).hdim(asked.hdim_q, asked.hdim_v);
}

Tensor::Tensor(DType type, std::int64_t count, std::uint64_t seed) : type_(type) {
  const std::size_t width = ckgen::bits(type) / 8;
  bytes_.resize(static_cast<std::size_t>(count) * width);
  for (std::size_t at = 0; at < bytes_.size(); at += width) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    const float eighths = static_cast<float>(static_cast<int>(seed >> 60) - 8) / 8;
    std::uint32_t code = 0;
    if (type == DType::fp32)
      std::memcpy(&code, &eighths, sizeof code);
    else
      code = ckgen::encode(type, eighths);
    std::memcpy(&bytes_[at], &code, width);
  }
}

double Tensor::at(std::int64_t element) const noexcept {
  return value(type_, bytes_.data(), element);
}

Operands::Operands(const ckgen::Problem& problem)
    : q(problem.signature().a,
        problem.fmha().batch * problem.fmha().seqlen_q * problem.fmha().heads_q * problem.fmha().hdim_q, 1),
      k(problem.signature().b,
        problem.fmha().batch * problem.fmha().seqlen_k * problem.fmha().heads_k * problem.fmha().hdim_q, 2),
      v(problem.signature().b,
        problem.fmha().batch * problem.fmha().seqlen_k * problem.fmha().heads_k * problem.fmha().hdim_v, 3),
      o(problem.signature().c,
        problem.fmha().batch * problem.fmha().seqlen_q * problem.fmha().heads_q * problem.fmha().hdim_v, 4) {
  const ckgen::FmhaShape& x = problem.fmha();
  const auto strides = [](std::int64_t rows, std::int64_t heads, std::int64_t hdim) {
    return ckgen::FmhaStrides{heads * hdim, hdim, rows * heads * hdim};
  };
  args.q = q.data(), args.k = k.data(), args.v = v.data(), args.o = o.data();
  args.q_strides = strides(x.seqlen_q, x.heads_q, x.hdim_q), args.k_strides = strides(x.seqlen_k, x.heads_k, x.hdim_q);
  args.v_strides = strides(x.seqlen_k, x.heads_k, x.hdim_v), args.o_strides = strides(x.seqlen_q, x.heads_q, x.hdim_v);
  args.scale = 1.0F / std::sqrt(static_cast<float>(x.hdim_q));
}

Gallery::Gallery(const Asked& asked)
    : registry(registered()),
      dispatcher(registry),
      device(std::string_view(asked.target) == "host" ? ckgen::Device::host()
                                                      : ckgen::Device::simulated(asked.target)) {}

void Gallery::need(const ckgen::Status& status) {
  if (status.ok()) return;
  std::printf("refused: %s\n", status.message);
  std::exit(2);
}

int Gallery::check(const char* what, const ckgen::Problem& problem, const ckgen::FmhaArgs& args) const {
  return check(what, plan(problem), args);
}

int Gallery::check(const char* what, const ckgen::Plan& plan, const ckgen::FmhaArgs& args) const {
  run(plan, args);
  const double off = error(plan.problem, args), most = plan.problem.signature().c == DType::fp32 ? 1e-5 : 1.0 / 64;
  std::printf("%s: %s, within %.1e, %s, k_batch %u\n", what, off <= most ? "correct" : "WRONG", off,
              registry.instance(plan.selection.instance).name, plan.selection.k_batch);
  return off <= most ? 0 : 1;
}

double error(const ckgen::Problem& problem, const ckgen::FmhaArgs& args) {
  double most = 0;
  for (std::int64_t b = 0; b < problem.fmha().batch; ++b) {
    const Sequence one{problem, args, b};
    for (std::int64_t head = 0; head < problem.fmha().heads_q; ++head)
      for (std::int64_t i = 0; i < one.rows(); ++i)
        if (const double off = one.error_of_row(head, i); !(off <= most)) most = off;
  }
  return most;
}

int expect(const char* what, bool holds) {
  std::printf("%s: %s\n", what, holds ? "correct" : "WRONG");
  return holds ? 0 : 1;
}
