// Everything of ckgen's C++ API. C++17; nothing in it throws.
#pragma once

#include <ckgen/arch_data.hpp>
#include <ckgen/device.hpp>
#include <ckgen/device_code.hpp>
#include <ckgen/dispatcher.hpp>
#include <ckgen/dtype.hpp>
#include <ckgen/gemm_types.hpp>
#include <ckgen/host_launch.hpp>
#include <ckgen/instance.hpp>
#include <ckgen/library.hpp>
#include <ckgen/lookup.hpp>
#include <ckgen/plan.hpp>
#include <ckgen/problem.hpp>
#include <ckgen/problem_rules.hpp>
#include <ckgen/registry.hpp>
#include <ckgen/registry_json.hpp>
#include <ckgen/result.hpp>
#include <ckgen/selection.hpp>
#include <ckgen/signature.hpp>
#include <ckgen/signature_text.hpp>
#include <ckgen/status.hpp>
#include <ckgen/strategy.hpp>
#include <ckgen/stream_k.hpp>
#include <ckgen/verbose.hpp>
#include <ckgen/version.hpp>
