// What a row of a user's file chooses, and for what: read alike in overrides and in tables.
#pragma once

#include <string>

#include <ckgen/device.hpp>
#include <ckgen/signature.hpp>

#include "src/operation/file_row.hpp"
#include "src/registry/registry_state.hpp"

namespace ckgen::inline v1::detail {

/// The device and the signature that a row is about; 8-bit floats are those of the device's arch.
struct RowSubject {
  Device device;
  Signature signature;
};

/// The instance that a row chooses, and its number of splits.
struct RowChoice {
  std::uint32_t instance;
  std::uint32_t k_batch;
};

/// Reads `target` and the cell of the column `signature`. An empty string, or why not.
std::string read_subject(const FileRow& row, std::string_view target, RowSubject& out);

/// Reads the columns that a kind of file has for it. An empty string, or why not: the instance is not in the library or
/// of another signature than the subject's, or the splits are no number of them.
std::string read_choice(const RegistryState& state, const FileRow& row, const RowSubject& subject,
                        std::string_view instance_column, std::string_view splits_column, RowChoice& out);

}  // namespace ckgen::inline v1::detail
