// Few rows of A against a B that is read in place: the bytes of a row are those that it has among many rows, which are
// packed. Operands and workspace are heap blocks of exactly their size, so that AddressSanitizer sees one byte too
// many.
#include "backends/host/gemm/blocking.hpp"
#include "backends/host/gemm/gemm.hpp"
#include "backends/host/gemm/in_place.hpp"
#include "backends/host/host_fixture.hpp"

#include <cmath>
#include <cstring>
#include <random>
#include <string>

namespace test_host_in_place {

using namespace ckgen;
using host_test::Bytes;
using host_test::Workspace;

constexpr std::int64_t kMany = 33;  // rows, which are packed

struct Kinds {
  DType a, b;
  Quant quant = Quant::none;
};
constexpr Kinds kKinds[] = {
    {DType::fp32, DType::fp32},
    {DType::fp16, DType::fp16},
    {DType::bf16, DType::bf16},
    {DType::fp16, DType::bf16},
    {DType::bf16, DType::fp8_ocp},
    {DType::fp16, DType::fp8_ocp},
    {DType::fp8_ocp, DType::bf8_ocp, Quant::rowwise},
    {DType::fp8_fnuz, DType::fp8_fnuz, Quant::per_tensor},
    {DType::bf8_fnuz, DType::bf8_fnuz},
    {DType::fp8_ocp, DType::fp8_ocp, Quant::blockscale},
    {DType::fp8_fnuz, DType::bf8_fnuz, Quant::blockscale},
    {DType::fp8_ocp, DType::fp8_ocp, Quant::mx},
};

// Values of mixed signs and far exponents: the order of their sums shows.
Bytes drawn(DType t, std::int64_t count, std::mt19937& random) {
  Bytes bytes(static_cast<std::size_t>(bytes_of(t, count)));
  std::uniform_real_distribution<float> value(-2.0F, 2.0F);
  for (std::int64_t i = 0; i < count; ++i)
    host_test::write(t, bytes.data(), i, std::ldexp(value(random), static_cast<int>(random() % 8) - 4));
  return bytes;
}

class Product {
 public:
  /// `lead` bytes of B's memory are ahead of it.
  Product(const Kinds& kind, std::int64_t n, std::int64_t k, std::int64_t lead = 0) : n_(n), k_(k), lead_(lead) {
    traits.a = kind.a;
    traits.b = kind.b;
    traits.c = traits.acc = DType::fp32;
    traits.layout = Layout::rcr;
    traits.quant = kind.quant;
    std::mt19937 random(static_cast<unsigned>(n * 1000 + k));
    a_ = drawn(kind.a, kMany * k, random);
    b_ = drawn(kind.b, (n - 1) * (k + 3) + k + lead * 8 / bits(kind.b), random);
    for (std::int64_t i = 0; i < kMany * (k / 32 + 1); ++i) a_scale_.push_back(1.0F + static_cast<float>(i % 7) / 8);
    for (std::int64_t i = 0; i < n * (k / 32 + 1); ++i) b_scale_.push_back(0.5F + static_cast<float>(i % 5) / 16);
    codes_.assign(a_scale_.size() + b_scale_.size(), 126);
    for (std::size_t i = 0; i < codes_.size(); ++i) codes_[i] = static_cast<unsigned char>(codes_[i] + i % 3);
  }

  GemmArgs args(std::int64_t m, std::vector<float>& c) {
    GemmArgs p{};
    c.assign(static_cast<std::size_t>(m * n_), -7.0F);
    p.a = a_.data();
    p.b = b_.data() + lead_;
    p.c = c.data();
    const bool mx = traits.quant == Quant::mx;
    p.a_scale = mx ? static_cast<const void*>(codes_.data()) : a_scale_.data();
    p.b_scale = mx ? static_cast<const void*>(codes_.data()) : b_scale_.data();
    p.m = m;
    p.n = p.ldc = n_;
    p.k = p.lda = k_;
    p.ldb = k_ + 3;
    p.batch = 1;
    p.a_scale_row_major = true;
    return p;
  }

  std::vector<float> own(std::int64_t m, const host::HostConfig& config) {
    std::vector<float> c;
    const GemmArgs p = args(m, c);
    const Workspace workspace(host::gemm_host_workspace(traits, config, m, n_, k_, 1));
    const Status s = host::run_gemm_host(traits, config, p, workspace.data, host::RowOrder::alike);
    EXPECT_TRUE(s.ok()) << s.message;
    return c;
  }

  std::vector<float> twin(std::int64_t m, std::int64_t k_batch) {
    const host::TwinConfig config{64, 64, 32, 1, true, true, true};
    std::vector<float> c;
    const GemmArgs p = args(m, c);
    const Workspace workspace(host::gemm_twin_workspace(traits, config, k_batch, m, n_, k_, 1));
    const Status s = host::run_gemm_twin(traits, config, k_batch, p, workspace.data, host::RowOrder::alike);
    EXPECT_TRUE(s.ok()) << s.message;
    return c;
  }

  bool reads_in_place(std::int64_t m, const host::HostConfig& config) const {
    return host::in_place_blocking(traits, host::host_blocking(traits, config, k_), m).in_place != nullptr;
  }

  GemmTraits traits{};

 private:
  std::int64_t n_, k_, lead_;
  Bytes a_, b_, codes_;
  std::vector<float> a_scale_, b_scale_;
};

bool begins_with(const std::vector<float>& many, const std::vector<float>& few) {
  return std::memcmp(many.data(), few.data(), few.size() * sizeof(float)) == 0;
}

host::HostConfig config_of(host::Isa isa, int threads = 0) {
  return {isa, 4, isa == host::Isa::x86_64_v3 ? 16 : 32, 8, 64, 256, threads};
}

std::string text_of(const Kinds& kind, std::int64_t m, std::int64_t k) {
  return std::string(name(kind.a)) + " " + std::string(name(kind.b)) + " " + std::string(name(kind.quant)) + ", " +
         std::to_string(m) + " rows, k " + std::to_string(k);
}

TEST(InPlace, RowsHaveTheBytesThatTheyHaveAmongMany) {
  int read = 0;
  for (const host::Isa isa : {host::Isa::x86_64_v4, host::Isa::x86_64_v4_bf16}) {
    if (!host::isa_available(isa)) continue;
    for (const Kinds& kind : kKinds)
      for (const std::int64_t k : {1, 63, 128, 221, 419}) {
        // Of the last but one rows are whole cache lines, none of which begins with a row.
        Product p(kind, k == 419 ? 75 : 16 + k % 5, k, k == 221 ? 12 : 0);
        const std::vector<float> many = p.own(kMany, config_of(isa));
        EXPECT_FALSE(p.reads_in_place(kMany, config_of(isa)));
        for (const std::int64_t m : {1, 2, 3, 4, 5, 7, 8, 9, 14, 16}) {
          EXPECT_TRUE(begins_with(many, p.own(m, config_of(isa)))) << host::isa_name(isa) << " " << text_of(kind, m, k);
          read += p.reads_in_place(m, config_of(isa));
        }
      }
  }
  EXPECT_TRUE(read > 600 || !host::isa_available(host::Isa::x86_64_v4_bf16)) << read;
}

TEST(InPlace, TwinsSplitKAlike) {
  for (const Kinds& kind : {kKinds[0], kKinds[2], kKinds[6]})
    for (const std::int64_t k_batch : {1, 3}) {
      Product p(kind, 70, 300);
      const std::vector<float> many = p.twin(kMany, k_batch);
      for (const std::int64_t m : {1, 6, 16})
        EXPECT_TRUE(begins_with(many, p.twin(m, k_batch))) << text_of(kind, m, 300) << ", split " << k_batch;
    }
}

TEST(InPlace, BytesDoNotDependOnThreads) {
  for (const host::Isa isa : {host::Isa::x86_64_v4, host::Isa::x86_64_v4_bf16}) {
    if (!host::isa_available(isa)) continue;
    Product p(kKinds[2], 700, 512);
    for (const std::int64_t m : {2, 11}) EXPECT_EQ(p.own(m, config_of(isa, 1)), p.own(m, config_of(isa, 0)));
  }
}

TEST(InPlace, OtherOperandsArePacked) {
  Product p(kKinds[2], 16, 64);
  const host::HostConfig config = config_of(host::Isa::x86_64_v3);
  EXPECT_FALSE(p.reads_in_place(1, config));
  for (const host::Isa isa : {host::Isa::x86_64_v4, host::Isa::x86_64_v4_bf16}) {
    if (!host::isa_available(isa)) continue;
    EXPECT_TRUE(p.reads_in_place(16, config_of(isa)));
    EXPECT_FALSE(p.reads_in_place(17, config_of(isa)));
    Product other = p;
    other.traits.layout = Layout::rrr;
    EXPECT_FALSE(other.reads_in_place(1, config_of(isa)));
    other.traits.layout = Layout::rcr;
    other.traits.preshuffle_b = true;
    EXPECT_FALSE(other.reads_in_place(1, config_of(isa)));
  }
}

}  // namespace test_host_in_place
