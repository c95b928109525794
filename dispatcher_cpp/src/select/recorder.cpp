#include "src/select/recorder.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include <ckgen/product_data.hpp>
#include <ckgen/signature_text.hpp>

namespace ckgen::inline v1::detail {
namespace {

constexpr std::uint32_t kSlots = 16'384;  // a power of two; at most 61 % are taken
constexpr char kColumns[] = "gfx,cu_num,sku,signature,B,M,N,K,experts,top_k,sizes,count\n";
constexpr std::size_t kNameSize = 160;

std::uint64_t shape_of(const Query& q) noexcept {
  ShapeHash hash;
  hash.add(q.signature.pack(), std::uint64_t{q.cu_num} << 8 | static_cast<std::uint64_t>(q.arch));
  hash.add(q.product, 0);
  if (const auto own = q.operation().listing.hash_shape) {
    own(q, hash);
  } else {
    hash.add(q.sizes.m, q.sizes.n);
    hash.add(q.sizes.k, q.key_batch());
  }
  return hash.value();
}

/// A line but for the count.
std::string line_of(const Query& q) {
  ShapeCells cells{q.key_batch(), q.sizes.m, q.sizes.n, q.sizes.k, 0, 0, {}};
  if (const auto own = q.operation().listing.write_shape) own(q, cells);
  char signature[kSignatureTextSize];
  canonical_text(q.signature, signature);
  std::string line =
      std::string(arch_name(q.arch)) + ',' + std::to_string(q.cu_num) + ',' + product_sku(q.product) + ',' + signature;
  for (const std::int64_t size :
       {cells.batch, cells.m, cells.n, cells.k, std::int64_t{cells.experts}, std::int64_t{cells.top_k}})
    line += ',' + std::to_string(size);
  return line + ',' + cells.sizes + ',';
}

/// The machine's name as a part of a file's.
std::string host_name() {
  char host[65] = {};
  if (::gethostname(host, sizeof host - 1) != 0) return "host";
  for (char* c = host; *c != '\0'; ++c) {
    const bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
    if (!plain) *c = '-';
  }
  return host;
}

/// Of this process, and of no other that ever had its number: "ckgen_record_<host>_<pid>_<nanoseconds>_<count>.csv".
std::string fresh_name() {
  static std::atomic<unsigned> made{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return "ckgen_record_" + host_name() + '_' + std::to_string(::getpid()) + '_' +
         std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) + '_' +
         std::to_string(made.fetch_add(1, std::memory_order_relaxed)) + ".csv";
}

bool write_all(int fd, const std::string& text) noexcept {
  for (std::size_t done = 0; done < text.size();) {
    const ::ssize_t wrote = ::write(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += static_cast<std::size_t>(wrote);
  }
  return true;
}

bool read_all(int fd, std::string& text) {
  char buffer[65536];
  for (;;) {
    const ::ssize_t got = ::pread(fd, buffer, sizeof buffer, static_cast<::off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

/// All that the recorder of one process knows. A child of fork() sees zeros: an unlocked, empty one without an owner.
struct Recording {
  struct Slot {
    std::atomic<std::uint64_t> shape;  // its hash; 0: empty
    std::atomic<std::uint64_t> count;
    std::uint32_t line;  // of the file, behind its columns; written before `shape`
  };

  std::atomic<std::uint32_t> lock;  // no mutex: whoever holds it while another thread forks, the child's is free
  std::atomic<std::uint32_t> shapes;
  std::atomic<std::uint64_t> beyond;
  ::pid_t owner;
  int fd;  // of the file, where `owner` has one
  bool failed;
  std::uint32_t lines;
  std::uint64_t bytes;
  char name[kNameSize];
  Slot slots[kSlots];
};

namespace {

class Locked {
 public:
  explicit Locked(Recording& recording) noexcept : lock_(recording.lock) {
    while (lock_.exchange(1, std::memory_order_acquire) != 0) lock_.wait(1, std::memory_order_relaxed);
  }
  ~Locked() {
    lock_.store(0, std::memory_order_release);
    lock_.notify_one();
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  std::atomic<std::uint32_t>& lock_;
};

/// The slot of a shape, or the empty one where it belongs.
Recording::Slot& slot_of(Recording& recording, std::uint64_t shape) noexcept {
  for (std::uint64_t at = shape;; ++at) {
    Recording::Slot& slot = recording.slots[at % kSlots];
    const std::uint64_t found = slot.shape.load(std::memory_order_acquire);
    if (found == shape || found == 0) return slot;
  }
}

/// Makes it one that no process owns. Only where the kernel does not do so for a child of fork().
void forget(Recording& recording) noexcept {
  for (Recording::Slot& slot : recording.slots) slot.shape.store(0, std::memory_order_relaxed);
  recording.shapes.store(0, std::memory_order_relaxed);
  recording.beyond.store(0, std::memory_order_relaxed);
  recording.failed = false;
}

}  // namespace

Recorder::Recorder(std::string folder) : folder_(std::move(folder)) {
  void* const memory = ::mmap(nullptr, sizeof(Recording), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  static_cast<void>(::madvise(memory, sizeof(Recording), MADV_WIPEONFORK));
  recording_ = new (memory) Recording{};
}

Recorder::~Recorder() {
  try {
    finish();
  } catch (...) {
    // Out of memory: the shapes are in the file.
  }
  ::munmap(recording_, sizeof(Recording));
}

std::uint32_t Recorder::shapes() const noexcept {
  return recording_->shapes.load(std::memory_order_relaxed);
}

std::uint64_t Recorder::beyond() const noexcept {
  return recording_->beyond.load(std::memory_order_relaxed);
}

void Recorder::record(const Query& q) {
  const std::uint64_t shape = shape_of(q);
  Recording::Slot& slot = slot_of(*recording_, shape);
  if (slot.shape.load(std::memory_order_relaxed) == shape) {
    slot.count.fetch_add(1, std::memory_order_relaxed);
  } else if (recording_->shapes.load(std::memory_order_relaxed) >= kMostShapes) {
    recording_->beyond.fetch_add(1, std::memory_order_relaxed);
  } else {
    begin(q, shape);
  }
}

/// The first time, unless another thread was faster.
void Recorder::begin(const Query& q, std::uint64_t shape) {
  Recording& own = *recording_;
  const std::string line = line_of(q);
  const Locked locked(own);
  if (own.owner != ::getpid()) {
    if (own.owner != 0) forget(own);
    own.owner = ::getpid();
    own.fd = -1;
    own.lines = 0;
  }
  Recording::Slot& slot = slot_of(own, shape);
  if (slot.shape.load(std::memory_order_relaxed) == shape) {
    slot.count.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (own.shapes.load(std::memory_order_relaxed) >= kMostShapes) {
    own.beyond.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  slot.line = append(line + "1\n") ? own.lines++ : ~0U;
  slot.count.store(1, std::memory_order_relaxed);
  slot.shape.store(shape, std::memory_order_release);
  if (own.shapes.fetch_add(1, std::memory_order_relaxed) + 1 == kMostShapes)
    std::fprintf(stderr, "ckgen: %s holds %u shapes; further ones are only counted\n", path().c_str(), kMostShapes);
}

std::string Recorder::path() const {
  return folder_ + '/' + recording_->name;
}

/// Beside its place, so that no reader finds a file without columns; append() moves it there.
bool Recorder::create() {
  Recording& own = *recording_;
  if (own.fd >= 0) return true;
  if (::mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST) return false;
  std::snprintf(own.name, sizeof own.name, "%s", fresh_name().c_str());
  own.fd = ::open((folder_ + "/." + own.name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  own.bytes = 0;
  return own.fd >= 0;
}

/// Whether the whole line is in the file.
bool Recorder::append(const std::string& line) {
  Recording& own = *recording_;
  if (own.failed) return false;
  if (!create()) {
    own.failed = true;
    complain(std::strerror(errno));
    return false;
  }
  const std::string text = own.bytes == 0 ? kColumns + line : line;
  const std::string beside = folder_ + "/." + own.name;
  const bool is_first = own.bytes == 0;
  if (!write_all(own.fd, text) || (is_first && std::rename(beside.c_str(), path().c_str()) != 0)) {
    own.failed = true;
    complain(std::strerror(errno));
    static_cast<void>(!::ftruncate(own.fd, static_cast<::off_t>(own.bytes)));  // no part of a line
    if (is_first) ::unlink(beside.c_str());
    return false;
  }
  own.bytes += text.size();
  return true;
}

/// The counts in place of the ones; the file is replaced whole.
void Recorder::finish() {
  Recording& own = *recording_;
  if (own.owner != ::getpid() || own.fd < 0) return;
  std::string text;
  if (own.lines != 0 && read_all(own.fd, text) && text.size() == own.bytes) {
    std::vector<std::uint64_t> counts(own.lines);
    for (const Recording::Slot& slot : own.slots) {
      if (slot.shape.load(std::memory_order_relaxed) != 0 && slot.line < own.lines)
        counts[slot.line] = slot.count.load(std::memory_order_relaxed);
    }
    std::string final = kColumns;
    std::size_t at = final.size();
    for (const std::uint64_t count : counts) {
      const std::size_t end = text.find('\n', at);
      final.append(text, at, end - at - 1);  // but for its 1
      final += std::to_string(count) + '\n';
      at = end + 1;
    }
    const std::string beside = folder_ + "/." + own.name;
    const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    const bool written = fd >= 0 && write_all(fd, final);
    if (fd >= 0) ::close(fd);
    if (!written || std::rename(beside.c_str(), path().c_str()) != 0) {
      complain(std::strerror(errno));
      ::unlink(beside.c_str());
    }
  }
  ::close(own.fd);
  if (const std::uint64_t more = beyond(); more != 0)
    std::fprintf(stderr, "ckgen: %llu misses of shapes beyond the %u in %s are not recorded\n",
                 static_cast<unsigned long long>(more), kMostShapes, path().c_str());
}

void Recorder::complain(const std::string& why) {
  const std::string at = recording_->name[0] != '\0' ? path() : folder_;
  std::fprintf(stderr, "ckgen: cannot record to %s: %s\n", at.c_str(), why.c_str());
}

}  // namespace ckgen::inline v1::detail
