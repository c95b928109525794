#include "src/select/recorder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace ckgen::inline v1::detail {
namespace {

/// A file that is locked for as long as this lives.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path) noexcept
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
    if (fd_ >= 0 && ::flock(fd_, LOCK_EX) != 0) {
      ::close(fd_);
      fd_ = -1;
    }
  }
  ~LockedFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  bool ok() const noexcept { return fd_ >= 0; }

  std::string read_from(std::uint64_t offset) const {
    std::string text;
    char buffer[4096];
    for (;;) {
      const ::ssize_t got = ::pread(fd_, buffer, sizeof buffer, static_cast<::off_t>(offset + text.size()));
      if (got <= 0) return text;
      text.append(buffer, static_cast<std::size_t>(got));
    }
  }

  bool write(const std::string& text) const noexcept {
    return ::write(fd_, text.data(), text.size()) == static_cast<::ssize_t>(text.size());
  }

 private:
  int fd_;
};

/// "1, 2 , 3" and "1,2,3" are one shape.
std::string normalised(const std::string& line) {
  std::string text;
  for (const char c : line) {
    if (c != ' ' && c != '\t' && c != '\r') text += c;
  }
  return text;
}

}  // namespace

void Recorder::record(const ShapeList& list) {
  const std::lock_guard lock(mutex_);
  if (seen_.size() >= kMaxShapes || !seen_.insert(list.file + ':' + list.line).second) return;
  File& file = files_[list.file];
  if (file.path.empty()) {
    if (::mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST) return complain(folder_, std::strerror(errno));
    file.path = folder_ + '/' + list.file;
  }
  append(file, list);
}

void Recorder::append(File& file, const ShapeList& list) {
  const LockedFile locked(file.path);
  if (!locked.ok()) return complain(file.path, std::strerror(errno));
  const std::string grown = locked.read_from(file.read);
  if (file.read == 0 && !grown.empty()) {
    const std::string header = normalised(grown.substr(0, grown.find('\n')));
    file.foreign = header != list.header;
  }
  if (file.foreign) return complain(file.path, "its columns are not " + list.header);
  file.read += grown.size();
  if (!grown.empty()) file.torn = grown.back() != '\n';
  for (std::size_t begin = 0; begin < grown.size();) {
    const std::size_t end = std::min(grown.find('\n', begin), grown.size());
    file.lines.insert(normalised(grown.substr(begin, end - begin)));
    begin = end + 1;
  }
  if (!file.lines.insert(list.line).second) return;
  const std::string text = (file.read == 0 ? list.header + '\n' : file.torn ? "\n" : "") + list.line + '\n';
  if (!locked.write(text)) return complain(file.path, std::strerror(errno));
  file.read += text.size();
  file.torn = false;
}

void Recorder::complain(const std::string& path, const std::string& why) {
  if (!complained_) std::fprintf(stderr, "ckgen: cannot record to %s: %s\n", path.c_str(), why.c_str());
  complained_ = true;
}

}  // namespace ckgen::inline v1::detail
