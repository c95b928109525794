// What a checked run knows of each register: written or not, and which memory operation still has to fill it.
#pragma once

#include <array>
#include <cstdint>

#include "inst.hpp"

namespace ckgen::emu {

struct RegisterShadow {
  std::array<std::uint64_t, kVectorRegisters> written{};  // lanes
  std::array<std::uint32_t, kVectorRegisters> vm{};       // Waits number of the vector memory load that fills it, or 0
  std::array<std::uint32_t, kVectorRegisters> lgkm{};     // the same of LDS
  std::array<std::uint32_t, kConstants> scalar_lgkm{};    // the same of scalar memory
  std::array<bool, kConstants> scalar_written{};
};

}  // namespace ckgen::emu
