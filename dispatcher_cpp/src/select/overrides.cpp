#include "src/select/overrides.hpp"

#include "src/operation/operation.hpp"
#include "src/operation/shape.hpp"
#include "src/select/chosen_row.hpp"
#include "src/select/row_file.hpp"

namespace ckgen::inline v1::detail {
namespace {

constexpr std::string_view kNeeded[] = {"target", "signature", "B", "M", "N", "K", "instance", "k_batch"};
constexpr RowFileKind kKind{"override file", kNeeded};

}  // namespace

std::size_t OverrideTable::Hash::operator()(const Key& key) const noexcept {
  ShapeHash hash;
  hash.add(key.signature ^ std::uint64_t{key.product} << 48,
           std::uint64_t{key.cu_num} << 8 | static_cast<std::uint64_t>(key.arch));
  hash.add(key.more.batch, key.m);
  hash.add(key.n, key.k);
  for (const std::int64_t size : key.more.own) hash.add(size, 0);
  return hash.value();
}

std::string OverrideTable::add(const RegistryState& state, const FileRow& row) {
  RowSubject about{};
  if (std::string wrong = read_subject(row, row["target"], about); !wrong.empty()) return wrong;
  const auto& [device, signature] = about;
  Key key{signature.pack(), device.arch(), device.product(), device.cu_num(), 0, 0, 0, {}};
  RowChoice choice{};
  std::string wrong = operation_of(signature.op).listing.read_override(row, signature, key.more);
  if (wrong.empty()) wrong = read_size(row, "M", key.m);
  if (wrong.empty()) wrong = read_size(row, "N", key.n);
  if (wrong.empty()) wrong = read_size(row, "K", key.k);
  if (wrong.empty()) wrong = read_choice(state, row, about, "instance", "k_batch", choice);
  if (!wrong.empty()) return wrong;
  if (!rows_.emplace(key, Override{choice.instance, choice.k_batch}).second) return "a second row for this shape";
  return {};
}

Status load_overrides(const RegistryState& state, const char* path, Exchanged<OverrideTable>& into) noexcept {
  struct Adding {
    const RegistryState& state;
    OverrideTable& table;
  };
  try {
    std::string text;
    if (const Status status = read_row_file(kKind, path, text); !status.ok()) return status;
    auto table = std::make_unique<OverrideTable>();
    Adding adding{state, *table};
    const auto add = [](void* context, const FileRow& row) {
      const Adding& to = *static_cast<Adding*>(context);
      return to.table.add(to.state, row);
    };
    LeftOut left_out;
    if (const Status status = each_row(kKind, path, text, add, &adding, left_out); !status.ok()) return status;
    into.exchange(table->empty() ? nullptr : std::move(table));
    return left_out.status(kKind);
  } catch (...) {
    return Status::error(StatusCode::internal, "out of memory while reading overrides");
  }
}

}  // namespace ckgen::inline v1::detail
