#include "src/select/tables.hpp"

#include <algorithm>

#include <ckgen/product_data.hpp>

#include "src/operation/operation.hpp"
#include "src/registry/table_products.hpp"
#include "src/select/chosen_row.hpp"
#include "src/select/ladder.hpp"
#include "src/select/query.hpp"
#include "src/select/reason.hpp"
#include "src/select/row_file.hpp"

namespace ckgen::inline v1::detail {
namespace {

constexpr std::string_view kTableColumns[] = {"gfx", "cu_num", "signature", "B", "M", "N", "K", "kernelName", "splitK"};
constexpr RowFileKind kTable{"table", kTableColumns};

MeasuredKey key_of(const Request& q) noexcept {
  const Operation& operation = operation_of(q.signature.op);
  MeasuredKey key;
  if (operation.listing.measured_key != nullptr) {
    operation.listing.measured_key(q, key);
  } else {
    key.same = {q.sizes.n, q.sizes.k, operation.selecting.key_batch(q)};
    key.sizes = {q.sizes.m, 0};
  }
  return key;
}

bool is_near(std::int64_t size, std::int64_t measured) noexcept {
  return kLoadedGap.holds(static_cast<std::uint64_t>(size), static_cast<std::uint64_t>(measured));
}

void add_table(const LookupTable& table, ShapeHash& hash) noexcept {
  hash.add(static_cast<int>(table.arch), table.cu_num);
  hash.add(table.policy->near_add, table.policy->near_factor);
  hash.add(table.policy->kernel_m_count, table.policy->split_k_m_count);
  for (std::uint32_t g = 0; g < table.group_count; ++g) {
    const Group& group = table.groups[g];
    hash.add(group.n, group.k);
    hash.add(group.batch, group.rung_count);
    const auto add = [&hash](const Rung& rung) {
      hash.add(rung.first, rung.last);
      hash.add(rung.step, std::uint32_t{rung.choice.instance} << 16 | rung.choice.k_batch);
    };
    std::for_each(group.rungs, group.rungs + group.rung_count, add);
    std::for_each(group.external_rungs, group.external_rungs + group.external_count, add);
  }
}

void add_bytes(std::string_view bytes, ShapeHash& hash) noexcept {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    word = word << 8 | static_cast<unsigned char>(bytes[i]);
    if (i % 8 == 7) hash.add(word, i);
  }
  hash.add(word, bytes.size());
}

/// The first of some texts between colons, which begin behind it then.
std::string next_path(std::string_view& paths) {
  const auto colon = paths.find(':');
  const std::string path(paths.substr(0, colon));
  paths = colon == std::string_view::npos ? std::string_view() : paths.substr(colon + 1);
  return path;
}

}  // namespace

std::size_t LoadedTables::Hash::operator()(const Key& key) const noexcept {
  ShapeHash hash;
  hash.add(key.signature ^ std::uint64_t{key.product} << 48,
           std::uint64_t{key.cu_num} << 8 | static_cast<std::uint64_t>(key.arch));
  for (std::size_t i = 0; i < key.same.size(); i += 2) hash.add(key.same[i], key.same[i + 1]);
  return hash.value();
}

/// Of a product's rows and those of all products as if they were one ladder; of equal sizes that of the later file,
/// within one the product's.
LoadedHit LoadedTables::find(const Request& q) const noexcept {
  const MeasuredKey wanted = key_of(q);
  const LoadedHit every = find(q, wanted, 0);
  if (q.product == 0) return every;
  const LoadedHit own = find(q, wanted, q.product);
  if (!own || !every) return own ? own : every;
  if (every.row->sizes != own.row->sizes) return every.row->sizes < own.row->sizes ? every : own;
  return every.row->file > own.row->file ? every : own;
}

/// As find_rung() of ckgen/fmha_table.hpp has it; a size that no row is rounded by is 0 in all.
LoadedHit LoadedTables::find(const Request& q, const MeasuredKey& wanted, std::uint16_t product) const noexcept {
  const auto found = ladders_.find({q.signature.pack(), q.arch, product, q.cu_num, wanted.same});
  if (found == ladders_.end()) return {};
  const std::vector<LoadedRow>& rows = found->second;
  const auto below = [](const LoadedRow& row, std::int64_t size) { return row.sizes[0] < size; };
  for (auto row = std::lower_bound(rows.begin(), rows.end(), wanted.sizes[0], below); row != rows.end(); ++row) {
    if (!is_near(wanted.sizes[0], row->sizes[0])) break;
    if (row->sizes[1] < wanted.sizes[1] || !is_near(wanted.sizes[1], row->sizes[1])) continue;
    const bool two = operation_of(q.signature.op).listing.measured_key != nullptr;
    return {&*row, row->sizes == wanted.sizes ? Tier::exact : Tier::near_,
            static_cast<std::uint64_t>(row->sizes[two ? 1 : 0])};
  }
  return {};
}

std::string LoadedTables::add(const RegistryState& state, const Index& index, std::uint32_t file, const FileRow& row) {
  std::string target = std::string(row["gfx"]) + ':' + std::string(row["cu_num"]);
  if (const std::string_view sku = row["sku"]; !sku.empty()) target += ':' + std::string(sku);
  RowSubject about{};
  if (std::string wrong = read_subject(row, target, about); !wrong.empty()) return wrong;
  const auto& [device, signature] = about;
  ShapeProblem shape;
  RowChoice choice{};
  std::string wrong = operation_of(signature.op).listing.read_shape(row, signature, shape);
  if (wrong.empty()) wrong = read_choice(state, row, about, "kernelName", "splitK", choice);
  if (!wrong.empty()) return wrong;
  const Query q = query_of(state, index, shape.problem, device, nullptr, nullptr, false, no_index);
  Verdict verdict = q.illegal();
  if (verdict.ok()) verdict = q.foreign_verdict(*state.instances[choice.instance], choice.k_batch);
  if (!verdict.ok()) return "it no longer fits: " + reason_text(verdict.rule, verdict.measured, verdict.limit);
  const MeasuredKey key = key_of(q);
  std::vector<LoadedRow>& rows = ladders_[{signature.pack(), q.arch, q.product, q.cu_num, key.same}];
  const auto below = [](const LoadedRow& one, const auto& sizes) { return one.sizes < sizes; };
  const auto at = std::lower_bound(rows.begin(), rows.end(), key.sizes, below);
  const LoadedRow made{key.sizes, choice.instance, choice.k_batch, file};
  if (at == rows.end() || at->sizes != key.sizes) {
    rows.insert(at, made);
  } else if (at->file == file) {
    return "a second row for this shape";
  } else {
    *at = made;
  }
  return {};
}

void LoadedTables::digest(std::string_view bytes) noexcept {
  add_bytes(bytes, digest_);
}

Status load_tables(const RegistryState& state, const Index& index, const char* paths,
                   Exchanged<LoadedTables>& into) noexcept {
  struct Adding {
    const RegistryState& state;
    const Index& index;
    LoadedTables& tables;
    std::uint32_t file;
  };
  try {
    auto tables = std::make_unique<LoadedTables>();
    Adding adding{state, index, *tables, 0};
    const auto add = [](void* context, const FileRow& row) {
      const Adding& to = *static_cast<Adding*>(context);
      return to.tables.add(to.state, to.index, to.file, row);
    };
    LeftOut left_out;
    std::string text;
    for (std::string_view rest = paths; !rest.empty(); ++adding.file) {
      const std::string path = next_path(rest);
      if (path.empty()) continue;
      if (const Status status = read_row_file(kTable, path.c_str(), text); !status.ok()) return status;
      const Status status = each_row(kTable, path.c_str(), text, add, &adding, left_out);
      if (!status.ok()) return status;
      tables->digest(text);
    }
    const bool any = *paths != '\0';
    into.exchange(any ? std::move(tables) : nullptr);
    return left_out.status(kTable);
  } catch (...) {
    return Status::error(StatusCode::internal, "out of memory while reading tables");
  }
}

std::uint64_t tables_digest(const RegistryState& state, const LoadedTables* loaded) noexcept {
  ShapeHash hash;
  for (const UnitRef& ref : state.units) {
    const SignatureUnit& unit = *ref.unit;
    hash.add(unit.signature.pack(), unit.table_count);
    for (std::uint32_t i = 0; i < unit.instance_count; ++i) hash.add(unit.instances[i].id, i);
    for (std::uint32_t t = 0; t < unit.table_count; ++t) add_table(*unit.tables[t], hash);
    for (const TableProduct& one : table_products(unit)) {
      const LookupTable& table = *unit.tables[one.table];
      hash.add(one.table, find_product(table.arch, table.cu_num, one.sku));
    }
    const Registering& own = operation_of(unit.signature.op).registering;
    for (std::uint32_t t = 0; t < unit.own_table_count && own.hash_own_table != nullptr; ++t)
      own.hash_own_table(own.own_table(unit, t).table, hash);
  }
  hash.add(loaded != nullptr ? loaded->digest() : 0, 0);
  return hash.value();
}

}  // namespace ckgen::inline v1::detail
