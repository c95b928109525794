#include "report.hpp"

#include <cstdio>

namespace ckgen::shim {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {  // names are as the file has them, in whatever encoding
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
      out += escaped;
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '"';
}

std::string triple(const std::uint32_t (&values)[3]) {
  return '[' + std::to_string(values[0]) + ", " + std::to_string(values[1]) + ", " + std::to_string(values[2]) + ']';
}

std::string object_of(const LaunchFinding& finding) {
  return "{\"rule\": " + quoted(finding.rule) + ", \"address\": " + std::to_string(finding.address) +
         ", \"instruction\": " + quoted(finding.instruction) + ", \"group\": " + triple(finding.group) +
         ", \"wave\": " + std::to_string(finding.wave) + ", \"lane\": " + std::to_string(finding.lane) +
         ", \"count\": " + std::to_string(finding.count) + ", \"what\": " + quoted(finding.what) + '}';
}

std::string numbers(const std::vector<std::pair<const char*, std::uint64_t>>& named) {
  std::string text = "{";
  for (std::size_t i = 0; i < named.size(); ++i)
    text += (i == 0 ? "" : ", ") + quoted(named[i].first) + ": " + std::to_string(named[i].second);
  return text + '}';
}

}  // namespace

void Report::add(const std::string& kernel, const Dispatch& dispatch, const LaunchOutcome& outcome) {
  if (path_.empty()) return;
  std::string line =
      "{\"kernel\": " + quoted(kernel) + ", \"grid\": " + triple(dispatch.grid) +
      ", \"block\": " + triple(dispatch.block) + ", \"dynamic_lds\": " + std::to_string(dispatch.dynamic_lds) +
      ", \"instructions\": " + std::to_string(outcome.instructions) +
      ", \"groups\": " + std::to_string(outcome.groups) + ", \"waves\": " + std::to_string(outcome.waves) +
      ", \"occupancy\": " + std::to_string(outcome.occupancy) + ", \"by_class\": " + numbers(outcome.by_class) +
      ", \"counts\": " + numbers(outcome.counts) +
      ", \"error\": " + (outcome.ran ? std::string("null") : quoted(outcome.error)) + ", \"findings\": [";
  for (std::size_t i = 0; i < outcome.findings.size(); ++i)
    line += (i == 0 ? "" : ", ") + object_of(outcome.findings[i]);
  line += "], \"origin\": " + (outcome.origin.empty() ? std::string("null") : outcome.origin) + "}\n";
  const std::lock_guard lock(mutex_);
  if (std::FILE* file = std::fopen(path_.c_str(), "ab")) {
    std::fwrite(line.data(), 1, line.size(), file);
    std::fclose(file);
  }
}

}  // namespace ckgen::shim
