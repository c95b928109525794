// Caches beyond 2 GiB on the CPU: pages of zeros that take no memory, of which few are touched, far apart.
#include "backends/host/fmha/host_fmha_reference.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace host_test {
namespace test_host_fmha_large {

constexpr std::int64_t kLeastFree = std::int64_t{8} << 30;

/// Zeros that are no memory until they are written.
class Sparse {
 public:
  explicit Sparse(std::size_t bytes) : bytes_(bytes) {
    memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~Sparse() {
    if (memory_ != MAP_FAILED) munmap(memory_, bytes_);
  }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;
  bool is_there() const { return memory_ != MAP_FAILED; }
  unsigned char* get() const { return static_cast<unsigned char*>(memory_); }

 private:
  std::size_t bytes_;
  void* memory_;
};

bool has_memory() {
  return std::int64_t{sysconf(_SC_AVPHYS_PAGES)} * sysconf(_SC_PAGESIZE) >= kLeastFree;
}

FmhaCase paged(FmhaKvLayout layout, int rows, std::int64_t page_gap) {
  FmhaTraits traits;
  traits.kv = FmhaKv::block_table;
  traits.kv_layout = layout;
  traits.masked = traits.lse = true;
  FmhaShape shape = fmha_shape(2, 4, 2, rows, 90, 64, 64);
  shape.page_size = 16;
  FmhaCase c = fmha_case(DType::bf16, DType::bf16, DType::bf16, traits, shape);
  c.used_k = {90, 41};
  c.page_gap = page_gap;
  return c;
}

TEST(HostFmhaLarge, PagesFarApartGiveTheBitsOfNearOnes) {
  if (!has_memory()) GTEST_SKIP() << "less than 8 GiB are free";
  for (const auto& [layout, rows, gap] :
       {std::tuple{FmhaKvLayout::linear, 1, 0}, std::tuple{FmhaKvLayout::linear, 40, 0},
        std::tuple{FmhaKvLayout::linear, 40, 24}, std::tuple{FmhaKvLayout::vectorized, 2, 0}}) {
    SCOPED_TRACE(testing::Message() << "layout " << static_cast<int>(layout) << " rows " << rows << " gap " << gap);
    FmhaFixture f(paged(layout, rows, gap));
    ASSERT_TRUE(f.run().ok());
    const Bytes o = f.o;
    const std::vector<float> lse = f.lse;
    const std::int64_t page_bytes = f.args.k_strides.batch * 2, pages = 1200001;
    const std::size_t bytes = static_cast<std::size_t>(page_bytes * pages);
    ASSERT_GT(bytes, std::size_t{1} << 32);
    const Sparse k(bytes), v(bytes);
    if (!k.is_there() || !v.is_there()) GTEST_SKIP() << "the system gives no room that is not taken";
    std::int64_t far = 0;
    for (std::int32_t& page : f.table) {
      far = (far + 611953) % pages;
      const std::size_t to = static_cast<std::size_t>(far * page_bytes), size = static_cast<std::size_t>(page_bytes);
      std::memcpy(k.get() + to, f.k.data() + page * page_bytes, size);
      std::memcpy(v.get() + to, f.v.data() + page * page_bytes, size);
      page = static_cast<std::int32_t>(far);
    }
    f.args.k = k.get(), f.args.v = v.get();
    f.c.shape.pages = pages;
    ASSERT_TRUE(f.run().ok());
    EXPECT_EQ(f.o, o);
    EXPECT_EQ(f.lse, lse);
  }
}

}  // namespace test_host_fmha_large
}  // namespace host_test
