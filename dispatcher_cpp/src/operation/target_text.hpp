// A target as users write it: "sm_90a:132", with the product where one is known "sm_90a:132:h200".
#pragma once

#include <string>

#include <ckgen/device.hpp>
#include <ckgen/product_data.hpp>

#include "src/operation/request.hpp"

namespace ckgen::inline v1::detail {

inline std::string target_text(std::string_view arch, std::uint32_t cu_num, std::string_view sku) {
  std::string text = std::string(arch) + ':' + std::to_string(cu_num);
  if (!sku.empty()) text += ':' + std::string(sku);
  return text;
}

inline std::string target_text(const Device& device) {
  return target_text(device.gfx(), device.cu_num(), device.sku());
}

inline std::string target_text(const Request& q) {
  return target_text(arch_name(q.arch), q.cu_num, product_sku(q.product));
}

}  // namespace ckgen::inline v1::detail
