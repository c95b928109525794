// Which instructions the arch of this compile has: code is chosen by them, never by an arch's name. 0 on the host.
//
// __has_builtin heeds the features of the processor that clang compiles for.
#pragma once

/// 8-bit float products and conversions of CDNA 3 and later.
#define CKGEN_HAS_FLOAT8_PRODUCTS __has_builtin(__builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8)

/// Products of 128 of K with e8m0 scales, conversions with scales, swaps of lanes: CDNA 4.
#define CKGEN_HAS_SCALED_PRODUCTS __has_builtin(__builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4)

/// 16-bit products of 16 of K, bf16's as fp16's: CDNA 2 and later.
#define CKGEN_HAS_HALF_PRODUCTS __has_builtin(__builtin_amdgcn_mfma_f32_16x16x16bf16_1k)

/// 16-bit products of 32 of K.
#define CKGEN_HAS_DEEP_PRODUCTS __has_builtin(__builtin_amdgcn_mfma_f32_16x16x32_bf16)

/// Whether 8-bit floats are FNUZ: of MFMA archs those are that came before scaled products (tests/specs holds the
/// specs to it).
#define CKGEN_HAS_FNUZ (CKGEN_HAS_FLOAT8_PRODUCTS && !CKGEN_HAS_SCALED_PRODUCTS)
