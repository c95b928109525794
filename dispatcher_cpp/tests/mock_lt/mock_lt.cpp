// A cuBLASLt, or with MOCK_HIP a hipBLASLt, as far as ckgen asks one: functions, layouts of structs and codes as their
// headers have them.
#include "mock_lt.hpp"

#include <cmath>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#ifdef MOCK_HIP
#define NAME(call) hipblasLt##call
#else
#define NAME(call) cublasLt##call
#endif

namespace {

#ifdef MOCK_HIP
constexpr int kTransA = 0, kScaleA = 5, kTransposed = 112, kCompute = 2, kUsualVersion = 101203;
constexpr int kInvalidValue = 3, kNotSupported = 7;
constexpr std::size_t kAlgorithmBytes = 24;
#else
constexpr int kTransA = 3, kScaleA = 17, kModeA = 31, kTransposed = 1, kCompute = 68, kUsualVersion = 130100;
constexpr int kInvalidValue = 7, kNotSupported = 15;
constexpr std::size_t kAlgorithmBytes = 64;
constexpr int kOuterVector = 3, kVector128 = 4, kBlock128 = 5;
#endif

struct What {
  std::map<int, std::vector<unsigned char>> attributes;

  template <class Value>
  Value get(int attribute, Value otherwise) const {
    const auto found = attributes.find(attribute);
    if (found == attributes.end() || found->second.size() != sizeof(Value)) return otherwise;
    Value value;
    std::memcpy(&value, found->second.data(), sizeof value);
    return value;
  }
};

/// Whether scales have a mode and no address, which cuBLASLt 13.1 refuses.
bool lacks_scales([[maybe_unused]] const What& what) {
#ifndef MOCK_HIP
  for (const int operand : {0, 1})
    if (what.get<std::int32_t>(kModeA + operand, -1) >= 0 && !what.get<const void*>(kScaleA + operand, nullptr))
      return true;
#endif
  return false;
}

struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t ld;
};

struct Answer {
  unsigned char algorithm[kAlgorithmBytes];
  std::size_t workspace;
  int status;
  float waves;
  int reserved[4];
};
static_assert(sizeof(Answer) == kAlgorithmBytes + 32);

struct Record {
  std::mutex mutex;
  MockLtCounts counts;
  MockLtProduct product;
  char failing[40];
  int failure;
  int version;

  int told_to_fail(const char* call) { return std::strcmp(failing, call) == 0 ? failure : 0; }
};

Record record;  // all zeros

struct Format {
  int exponent_bits, mantissa_bits, bytes;
};

Format format_of(int type) {
  switch (type) {
    case 2: return {5, 10, 2};
    case 14: return {8, 7, 2};
    default: return {4, 3, 1};
  }
}

double read(const void* memory, int type, std::int64_t at) {
  const Format f = format_of(type);
  std::uint16_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(memory) + at * f.bytes, static_cast<std::size_t>(f.bytes));
  const int mantissa = bits & ((1 << f.mantissa_bits) - 1);
  const int exponent = bits >> f.mantissa_bits & ((1 << f.exponent_bits) - 1);
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const double size = exponent == 0 ? std::ldexp(mantissa, 1 - bias - f.mantissa_bits)
                                    : std::ldexp(mantissa + (1 << f.mantissa_bits), exponent - bias - f.mantissa_bits);
  return bits >> (f.exponent_bits + f.mantissa_bits) & 1 ? -size : size;
}

/// Of values that the type holds as they are.
void write(void* memory, int type, std::int64_t at, double value) {
  const Format f = format_of(type);
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  int bits = 0;
  if (value != 0)
    bits = (exponent - 1 + bias) << f.mantissa_bits | static_cast<int>(std::ldexp(fraction * 2 - 1, f.mantissa_bits));
  if (value < 0) bits |= 1 << (f.exponent_bits + f.mantissa_bits);
  const auto stored = static_cast<std::uint16_t>(bits);
  std::memcpy(static_cast<char*>(memory) + at * f.bytes, &stored, static_cast<std::size_t>(f.bytes));
}

#ifdef MOCK_HIP
double scale_of(const What& what, int operand, std::int64_t, std::int64_t, const Layout&) {
  const auto* scales = what.get<const float*>(kScaleA + operand, nullptr);
  return scales != nullptr ? double{scales[0]} : 1.0;
}
#else
/// Of an operand's column (a row of ours), at depth k.
double scale_of(const What& what, int operand, std::int64_t column, std::int64_t k, const Layout& layout) {
  const auto* scales = what.get<const float*>(kScaleA + operand, nullptr);
  if (scales == nullptr) return 1;
  const auto columns = static_cast<std::int64_t>(layout.columns);
  const std::int64_t groups = (static_cast<std::int64_t>(layout.rows) + 127) / 128;
  switch (what.get<std::int32_t>(kModeA + operand, 0)) {
    case kOuterVector: return double{scales[column]};
    case kVector128: return double{scales[k / 128 * columns + column]};
    case kBlock128: return double{scales[column / 128 * ((groups + 3) / 4 * 4) + k / 128]};
    default: return double{scales[0]};
  }
}
#endif

#ifdef MOCK_HIP
void fill(Answer& answer, const MockLtSettings& settings, std::size_t number) {
  const auto index = static_cast<std::int32_t>(settings.of[0] * 10 + number);
  std::memcpy(answer.algorithm, &index, sizeof index);
}
MockLtSettings settings_of(const void* algorithm) {
  MockLtSettings settings{};
  std::memcpy(settings.of, algorithm, 4);
  return settings;
}
#else
bool is_known(const MockLtSettings& settings) {
  for (const MockLtSettings& one : kMockAlgorithms)
    if (std::memcmp(&one, &settings, sizeof one) == 0) return true;
  return false;
}

void fill(Answer& answer, const MockLtSettings& settings, std::size_t) {
  std::memcpy(answer.algorithm, &settings, sizeof settings);
}
MockLtSettings settings_of(const void* algorithm) {
  MockLtSettings settings;
  std::memcpy(&settings, algorithm, sizeof settings);
  return settings;
}
#endif

/// An operand's columns with their scales.
std::vector<double> scaled(const What& what, int operand, const void* memory, const Layout& layout) {
  std::vector<double> values;
  for (std::int64_t column = 0; column < static_cast<std::int64_t>(layout.columns); ++column)
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(layout.rows); ++k)
      values.push_back(read(memory, layout.type, column * layout.ld + k) * scale_of(what, operand, column, k, layout));
  return values;
}

/// What an algorithm of three splits needs is not there for products of less than three blocks of K.
bool is_taken(const MockLtSettings& settings, const Layout& operand) {
  return settings.of[2] <= 1 || operand.rows >= 3 * 64;
}

}  // namespace

extern "C" {

int NAME(Create)(void** handle) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("Create")) return code;
  ++record.counts.handles;
  *handle = &record;
  return 0;
}

int NAME(MatmulDescCreate)(void** what, int compute, int scale_type) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("MatmulDescCreate")) return code;
  if (compute != kCompute || scale_type != 0) return kInvalidValue;
  *what = new What;
  ++record.counts.descriptions;
  ++record.counts.live;
  return 0;
}

int NAME(MatmulDescDestroy)(void* what) {
  const std::lock_guard lock(record.mutex);
  delete static_cast<What*>(what);
  --record.counts.live;
  return 0;
}

int NAME(MatmulDescSetAttribute)(void* what, int attribute, const void* value, std::size_t bytes) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("MatmulDescSetAttribute")) return code;
  const auto* begin = static_cast<const unsigned char*>(value);
  static_cast<What*>(what)->attributes[attribute].assign(begin, begin + bytes);
  return 0;
}

int NAME(MatrixLayoutCreate)(void** layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t ld) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("MatrixLayoutCreate")) return code;
  *layout = new Layout{type, rows, columns, ld};
  ++record.counts.live;
  return 0;
}

int NAME(MatrixLayoutDestroy)(void* layout) {
  const std::lock_guard lock(record.mutex);
  delete static_cast<Layout*>(layout);
  --record.counts.live;
  return 0;
}

int NAME(MatmulPreferenceCreate)(void** wishes) {
  const std::lock_guard lock(record.mutex);
  *wishes = new std::uint64_t{0};
  ++record.counts.live;
  return 0;
}

int NAME(MatmulPreferenceDestroy)(void* wishes) {
  const std::lock_guard lock(record.mutex);
  delete static_cast<std::uint64_t*>(wishes);
  --record.counts.live;
  return 0;
}

int NAME(MatmulPreferenceSetAttribute)(void* wishes, int attribute, const void* value, std::size_t bytes) {
  if (attribute != 1 || bytes != sizeof(std::uint64_t)) return kInvalidValue;
  std::memcpy(wishes, value, bytes);
  return 0;
}

int NAME(MatmulAlgoGetHeuristic)(void*, void* described, void* b, void* a, void*, void*, void* wishes, int most,
                                 void* answers, int* found) {
  const std::lock_guard lock(record.mutex);
  ++record.counts.heuristics;
  if (const int code = record.told_to_fail("MatmulAlgoGetHeuristic")) return code;
  if (lacks_scales(*static_cast<const What*>(described))) return kInvalidValue;
  *found = 0;
  if (static_cast<const Layout*>(a)->columns == 1) return kNotSupported;  // one row of ours
  for (std::size_t i = 0; i < std::size(kMockAlgorithms) && *found < most; ++i) {
    if (!is_taken(kMockAlgorithms[i], *static_cast<const Layout*>(b))) continue;
    Answer answer{};
    fill(answer, kMockAlgorithms[i], i);
    answer.workspace = *static_cast<const std::uint64_t*>(wishes) / 2;
    std::memcpy(static_cast<char*>(answers) + static_cast<std::size_t>(*found) * sizeof answer, &answer, sizeof answer);
    ++*found;
  }
  return 0;
}

int NAME(Matmul)(void* handle, void* described, const void* alpha, const void* first, void* first_layout,
                 const void* second, void* second_layout, const void* beta, const void*, void*, void* result,
                 void* result_layout, const void* algorithm, void* workspace, std::size_t bytes, void* stream) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("Matmul")) return code;
  const What& what = *static_cast<const What*>(described);
  const Layout &b = *static_cast<const Layout*>(first_layout), &a = *static_cast<const Layout*>(second_layout),
               &c = *static_cast<const Layout*>(result_layout);
  float one = 0, zero = 1;
  std::memcpy(&one, alpha, sizeof one);
  std::memcpy(&zero, beta, sizeof zero);
  if (handle != &record || what.get<std::int32_t>(kTransA, 0) != kTransposed || one != 1 || zero != 0 ||
      workspace == nullptr || a.rows != b.rows || c.rows != b.columns || c.columns != a.columns)
    return kInvalidValue;
  const std::vector<double> left = scaled(what, 0, first, b), right = scaled(what, 1, second, a);
  for (std::size_t row = 0; row < c.rows; ++row)
    for (std::size_t column = 0; column < c.columns; ++column) {
      double sum = 0;
      for (std::size_t k = 0; k < a.rows; ++k) sum += left[row * a.rows + k] * right[column * a.rows + k];
      write(result, c.type, static_cast<std::int64_t>(column) * c.ld + static_cast<std::int64_t>(row), sum);
    }
  record.product = {settings_of(algorithm), workspace, bytes, stream};
  ++record.counts.products;
  return 0;
}

#ifdef MOCK_HIP
int hipblasLtGetVersion(void*, int* version) {
  *version = record.version != 0 ? record.version : kUsualVersion;
  return 0;
}
#else
std::size_t cublasLtGetVersion() {
  return static_cast<std::size_t>(record.version != 0 ? record.version : kUsualVersion);
}

int cublasLtMatmulAlgoInit(void*, int, int, int, int, int, int, int id, void* algorithm) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("MatmulAlgoInit")) return code;
  if (id != 66 && id != 21) return kNotSupported;
  const MockLtSettings settings{{static_cast<std::uint32_t>(id)}};
  std::memcpy(algorithm, &settings, sizeof settings);
  return 0;
}

int cublasLtMatmulAlgoConfigSetAttribute(void* algorithm, int attribute, const void* value, std::size_t bytes) {
  if (attribute < 1 || attribute > 8 || bytes != (attribute > 6 ? 2 : 4)) return kInvalidValue;
  std::memset(static_cast<std::uint32_t*>(algorithm) + attribute, 0, 4);
  std::memcpy(static_cast<std::uint32_t*>(algorithm) + attribute, value, bytes);
  return 0;
}

int cublasLtMatmulAlgoConfigGetAttribute(const void* algorithm, int attribute, void* value, std::size_t bytes,
                                         std::size_t* written) {
  if (attribute < 0 || attribute > 8 || bytes != (attribute > 6 ? 2 : 4)) return kInvalidValue;
  std::memcpy(value, static_cast<const std::uint32_t*>(algorithm) + attribute, bytes);
  *written = bytes;
  return 0;
}

int cublasLtMatmulAlgoCheck(void*, void*, void* b, void*, void*, void*, const void* algorithm, void* answer) {
  const std::lock_guard lock(record.mutex);
  ++record.counts.checks;
  if (const int code = record.told_to_fail("MatmulAlgoCheck")) return code;
  const MockLtSettings settings = settings_of(algorithm);
  if (!is_known(settings) || !is_taken(settings, *static_cast<const Layout*>(b))) return kNotSupported;
  Answer checked{};
  checked.workspace = settings.of[2] * 1024;
  std::memcpy(answer, &checked, sizeof checked);
  return 0;
}
#endif

MockLtCounts mock_lt_counts() {
  const std::lock_guard lock(record.mutex);
  return record.counts;
}

MockLtProduct mock_lt_last_product() {
  const std::lock_guard lock(record.mutex);
  return record.product;
}

void mock_lt_fail(const char* call, int code) {
  const std::lock_guard lock(record.mutex);
  std::strncpy(record.failing, call, sizeof record.failing - 1);
  record.failure = code;
}

void mock_lt_version(int number) {
  const std::lock_guard lock(record.mutex);
  record.version = number;
}

}  // extern "C"
