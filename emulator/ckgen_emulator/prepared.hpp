// What a host unit's PrepareFn answers, as plain numbers: host_unit.py reads it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>

#include <ckgen/device_code.hpp>

struct Answered {
  char symbol[256];
  std::uint32_t grid[3], block[3];
  std::uint32_t dynamic_lds, args_size;
  std::uint64_t clear_bytes;
  unsigned char args[ckgen::kMaxKernelArgs];
  char message[240];
};

/// Fills `to` and returns the status' code; the message where it is not ok.
inline int answer(ckgen::PrepareFn prepare, const ckgen::Launch& launch, ckgen::Arch arch, std::uint32_t cu_num,
                  Answered* to) {
  ckgen::KernelCall call;
  call.reset();
  const ckgen::Status status = prepare(launch, arch, cu_num, call);
  if (!status.ok()) {
    std::memcpy(to->message, status.message, sizeof to->message);
    return static_cast<int>(status.code);
  }
  std::snprintf(to->symbol, sizeof to->symbol, "%s", call.symbol);
  std::memcpy(to->grid, call.grid, sizeof to->grid);
  std::memcpy(to->block, call.block, sizeof to->block);
  to->dynamic_lds = call.dynamic_lds;
  to->args_size = call.args_size;
  to->clear_bytes = call.clear.rows * call.clear.width;
  std::memcpy(to->args, call.args, call.args_size);
  return 0;
}
