// The stages of a plan in words.
#pragma once

#include <string>
#include <vector>

#include <ckgen/plan.hpp>

namespace ckgen::tests {

/// As in "sort kernel reset_output kernel"; `own` are the words of the operation's own stages.
inline std::string stages(const Plan& plan, const std::vector<std::string>& own = {}) {
  std::string text;
  for (std::uint32_t i = 0; i < plan.stage_count; ++i) {
    const Stage& stage = plan.stages[i];
    text += i == 0 ? "" : " ";
    switch (stage.kind) {
      case StageKind::kernel: text += "kernel"; break;
      case StageKind::reset_output: text += "reset_output"; break;
      case StageKind::reset_workspace: text += "reset_workspace"; break;
      case StageKind::own: text += own.at(stage.own); break;
    }
  }
  return text;
}

}  // namespace ckgen::tests
