#include "src/select/chosen_row.hpp"

#include <ckgen/signature_text.hpp>

#include "src/select/query.hpp"

namespace ckgen::inline v1::detail {

std::string read_subject(const FileRow& row, std::string_view target, RowSubject& out) {
  out.device = Device::simulated(target);
  if (!out.device) return quoted("unknown target", target);
  const Result<Signature> signature = parse_signature(row["signature"]);
  if (!signature) return signature.status().message;
  out.signature = resolved(*signature, arch_info(out.device.arch()).fp8);
  return {};
}

std::string read_choice(const RegistryState& state, const FileRow& row, const RowSubject& subject,
                        std::string_view instance_column, std::string_view splits_column, RowChoice& out) {
  const std::string_view name = row[instance_column], splits = row[splits_column];
  out.instance = state.find(name);
  if (out.instance == no_index) return quoted("not in the library: instance", name);
  std::int64_t k_batch = 0;
  if (!read_number(splits, 0, k_batch) || k_batch > 0xffff)
    return quoted(std::string(splits_column) + " is not a number of splits:", splits);
  if (state.instances[out.instance]->signature != subject.signature)
    return quoted("of another signature: instance", name);
  out.k_batch = static_cast<std::uint32_t>(k_batch);
  return {};
}

}  // namespace ckgen::inline v1::detail
