// The element types of a GEMM's operands, to and from double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <ckgen/dtype.hpp>

/// A binary float of at most 16 bits; without bits of an exponent an integer of 8 or 32, in two's complement.
struct Number {
  int exponent_bits, fraction_bits;
  bool has_infinity;

  static Number of(ckgen::DType type) {
    switch (type) {
      case ckgen::DType::bf16: return {8, 7, true};
      case ckgen::DType::fp16: return {5, 10, true};
      case ckgen::DType::fp8_ocp: return {4, 3, false};
      case ckgen::DType::int8: return {0, 7, false};
      case ckgen::DType::int32: return {0, 31, false};
      default: return {5, 2, true};  // bf8_ocp
    }
  }
  int bytes() const { return (1 + exponent_bits + fraction_bits) / 8; }
  bool is_integer() const { return exponent_bits == 0; }
  /// Of a normal distribution whose values fill the type.
  double deviation() const { return is_integer() ? 32 : 1; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }

  /// At most half of a unit in the last place of a float near `value`, whose unit is that of subnormals at least; none
  /// of an integer.
  double half_unit(double value) const {
    if (is_integer()) return 0;
    return std::ldexp(std::max(std::fabs(value), std::ldexp(1, 1 - bias())), -fraction_bits - 1);
  }

  double read(unsigned bits) const {
    if (is_integer()) return bytes() == 1 ? static_cast<std::int8_t>(bits) : static_cast<std::int32_t>(bits);
    const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    const double fraction = std::ldexp(bits & ((1U << fraction_bits) - 1), -fraction_bits);
    const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias()) : std::ldexp(1 + fraction, exponent - bias());
    return (bits >> (exponent_bits + fraction_bits)) & 1U ? -size : size;
  }
  /// The nearest, ties to even, of a finite value that the type holds.
  unsigned write(double value) const {
    if (is_integer())
      return static_cast<std::uint8_t>(static_cast<int>(std::clamp(std::nearbyint(value), -128.0, 127.0)));
    const unsigned sign = std::signbit(value) ? 1U << (exponent_bits + fraction_bits) : 0;
    const double size = std::fabs(value);
    if (size == 0) return sign;
    int exponent = 0;
    std::frexp(size, &exponent);
    const int least = 1 - bias();
    const int scale = (exponent - 1 < least ? least : exponent - 1) - fraction_bits;
    const auto units = static_cast<unsigned>(std::nearbyint(std::ldexp(size, -scale)));
    // A carry into the next exponent comes out by itself.
    const int offset = scale + fraction_bits - least;
    return sign | (units + (static_cast<unsigned>(offset) << fraction_bits));
  }
  /// Values as they lie in memory.
  std::vector<unsigned char> stored(const std::vector<double>& values) const {
    const auto size = static_cast<std::size_t>(bytes());
    std::vector<unsigned char> found(values.size() * size);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const unsigned code = write(values[i]);
      std::memcpy(&found[i * size], &code, size);
    }
    return found;
  }
};

/// So many values of the type's normal distribution.
inline std::vector<double> normal_values(const Number& type, std::size_t count, std::mt19937& random) {
  std::normal_distribution<double> normal(0, type.deviation());
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}
