#include "src/select/read_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace ckgen::inline v1::detail {
namespace {

constexpr std::size_t kShown = 160;

struct OpenFile {
  int fd;
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

std::string read_file(const char* path, std::size_t most, std::string& text) {
  const OpenFile file{::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  struct ::stat status{};
  if (file.fd < 0 || ::fstat(file.fd, &status) != 0) return std::strerror(errno);
  if (!S_ISREG(status.st_mode)) return "it is no regular file";
  const std::string too_large = "it is larger than " + std::to_string(most >> 20) + " MiB";
  if (static_cast<std::uint64_t>(status.st_size) > most) return too_large;
  text.clear();
  char buffer[65536];
  for (;;) {
    const ::ssize_t got = ::read(file.fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::strerror(errno);
    if (got == 0) return {};
    if (text.size() + static_cast<std::size_t>(got) > most) return too_large;  // it has grown
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

std::string shown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (out.size() >= kShown) return out + "...";
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", byte);
      out += escape;
    }
  }
  return out;
}

}  // namespace ckgen::inline v1::detail
