// A file that a user names, read whole: never a device, a pipe or a folder, and never more than a bound.
#pragma once

#include <cstddef>
#include <string>

namespace ckgen::inline v1::detail {

/// The bytes of a regular file of at most `most` bytes in `text`. An empty string, or why it cannot be read. Does not
/// wait for a pipe's other end. Throws std::bad_alloc only.
std::string read_file(const char* path, std::size_t most, std::string& text);

/// What a file says, for messages: any byte but printable ASCII as `\xNN`, and no more than 160 characters of it.
std::string shown(const std::string& text);

}  // namespace ckgen::inline v1::detail
