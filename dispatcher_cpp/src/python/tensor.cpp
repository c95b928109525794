// NumPy's arrays through their array struct, torch's tensors through DLPack's exchange of C functions.
#include "src/python/tensor.hpp"

namespace ckgen::inline v1::detail {
namespace {

/// PyArrayInterface of NumPy's array interface, version 3.
struct ArrayInterface {
  int two;
  int nd;
  char kind;
  int itemsize;
  int flags;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  void* data;
  PyObject* descr;
};
constexpr int kArrayIsWritable = 0x400;

/// DLTensor of DLPack 1.
struct DlTensor {
  void* data;
  std::int32_t device_type;
  std::int32_t device_id;
  std::int32_t ndim;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

/// DLPackExchangeAPI of DLPack 1.3.
struct DlExchange {
  std::uint32_t major, minor;
  DlExchange* previous;
  void (*allocate)();
  void (*managed_from_object)();
  void (*managed_to_object)();
  int (*from_object)(void* object, DlTensor* out);
  StreamOf current_stream;
};

struct Reader {
  PyObject* type;
  const DlExchange* exchange;  // null: the array struct
};
std::array<Reader, 16> readers;  // under the GIL
std::size_t reader_count = 0;

const Reader* reader_of(PyObject* tensor) noexcept {
  const Owned type(PyObject_Type(tensor));
  for (std::size_t i = 0; i < reader_count; ++i)
    if (readers[i].type == type.get()) return &readers[i];
  return nullptr;
}

template <class Size>
void add_sizes(const Size* sizes, int count, KeyWords& key) noexcept {
  for (int i = 0; i < count; ++i) key.add(static_cast<std::uint64_t>(sizes[i]));
}

bool read_array(PyObject* array, TensorPlace& place, KeyWords& key) noexcept {
  static PyObject* const struct_name = PyUnicode_InternFromString("__array_struct__");
  static PyObject* const dtype_name = PyUnicode_InternFromString("dtype");
  const Owned capsule(PyObject_GetAttr(array, struct_name));
  const Owned dtype(capsule ? PyObject_GetAttr(array, dtype_name) : nullptr);
  const auto* found =
      static_cast<const ArrayInterface*>(dtype ? PyCapsule_GetPointer(capsule.get(), nullptr) : nullptr);
  if (found == nullptr) {
    PyErr_Clear();
    return false;
  }
  place.address = reinterpret_cast<std::uint64_t>(found->data);
  key.add(static_cast<std::uint64_t>(found->nd) << 1 | ((found->flags & kArrayIsWritable) != 0 ? 1U : 0U));
  key.add(reinterpret_cast<std::uint64_t>(dtype.get()));  // a site keeps the dtypes that it was made of
  add_sizes(found->shape, found->nd, key);
  add_sizes(found->strides, found->nd, key);
  return true;
}

bool read_dlpack(const DlExchange& exchange, PyObject* tensor, TensorPlace& place, KeyWords& key) noexcept {
  DlTensor found{};
  if (exchange.from_object(tensor, &found) != 0) {
    PyErr_Clear();
    return false;
  }
  place.address = reinterpret_cast<std::uint64_t>(found.data) + found.byte_offset;
  place.device_type = found.device_type;
  place.device_id = found.device_id;
  place.stream_of = exchange.current_stream;
  if (found.strides == nullptr && found.ndim > 0) return false;
  key.add(std::uint64_t{1} << 63 | static_cast<std::uint64_t>(found.ndim));
  key.add(std::uint64_t{found.code} << 32 | std::uint64_t{found.bits} << 16 | found.lanes);
  key.add(static_cast<std::uint64_t>(found.device_type) << 32 | static_cast<std::uint32_t>(found.device_id));
  add_sizes(found.shape, found.ndim, key);
  add_sizes(found.strides, found.ndim, key);
  return true;
}

}  // namespace

bool read_with(PyObject* type, PyObject* exchange, PyObject* none) noexcept {
  const DlExchange* functions = nullptr;
  if (exchange != none) {
    functions = static_cast<const DlExchange*>(PyCapsule_GetPointer(exchange, "dlpack_exchange_api"));
    if (functions == nullptr) return false;
    if (functions->major != 1 || functions->from_object == nullptr) return true;  // read in Python, as before
  }
  for (std::size_t i = 0; i < reader_count; ++i)
    if (readers[i].type == type) return true;
  if (reader_count == readers.size()) return true;
  Py_IncRef(type);
  readers[reader_count++] = {type, functions};
  return true;
}

bool read(PyObject* tensor, TensorPlace& place, KeyWords& key) noexcept {
  const Reader* reader = reader_of(tensor);
  if (reader == nullptr) return false;
  return reader->exchange == nullptr ? read_array(tensor, place, key)
                                     : read_dlpack(*reader->exchange, tensor, place, key);
}

}  // namespace ckgen::inline v1::detail
