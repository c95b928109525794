// The functions of Python's stable ABI that are used here, as https://docs.python.org/3/c-api/stable.html lists them.
//
// Declared here, because a library is built where no header of Python's need be; weak, because most programs that link
// it are none of Python's.
#pragma once

#include <cstddef>

extern "C" {
struct _object;
using PyObject = _object;
using Py_ssize_t = std::ptrdiff_t;
using PyFastFunction = PyObject* (*)(PyObject* self, PyObject* const* arguments, Py_ssize_t count);

struct PyMethodDef {
  const char* name;
  PyFastFunction function;
  int flags;
  const char* doc;
};

#define CKGEN_PYTHON __attribute__((weak))
CKGEN_PYTHON void Py_IncRef(PyObject*);
CKGEN_PYTHON void Py_DecRef(PyObject*);
CKGEN_PYTHON PyObject* Py_BuildValue(const char*, ...);
CKGEN_PYTHON PyObject* PyBytes_FromStringAndSize(const char*, Py_ssize_t);
CKGEN_PYTHON int PyBytes_AsStringAndSize(PyObject*, char**, Py_ssize_t*);
CKGEN_PYTHON PyObject* PyCFunction_NewEx(PyMethodDef*, PyObject* self, PyObject* module);
CKGEN_PYTHON PyObject* PyCapsule_New(void*, const char*, void (*)(PyObject*));
CKGEN_PYTHON void* PyCapsule_GetPointer(PyObject*, const char*);
CKGEN_PYTHON PyObject* PyDict_GetItemWithError(PyObject*, PyObject*);
CKGEN_PYTHON int PyDict_Next(PyObject*, Py_ssize_t* at, PyObject** key, PyObject** value);
CKGEN_PYTHON void PyErr_Clear();
CKGEN_PYTHON PyObject* PyErr_NoMemory();
CKGEN_PYTHON PyObject* PyErr_Occurred();
CKGEN_PYTHON void PyErr_SetObject(PyObject* type, PyObject* value);
CKGEN_PYTHON void PyEval_RestoreThread(void*);
CKGEN_PYTHON void* PyEval_SaveThread();
CKGEN_PYTHON unsigned long long PyLong_AsUnsignedLongLong(PyObject*);
CKGEN_PYTHON PyObject* PyLong_FromLong(long);
CKGEN_PYTHON PyObject* PyObject_CallFunctionObjArgs(PyObject*, ...);
CKGEN_PYTHON PyObject* PyObject_CallNoArgs(PyObject*);
CKGEN_PYTHON PyObject* PyObject_GetAttr(PyObject*, PyObject*);
CKGEN_PYTHON PyObject* PyObject_Type(PyObject*);
CKGEN_PYTHON PyObject* PyTuple_GetItem(PyObject*, Py_ssize_t);
CKGEN_PYTHON PyObject* PyTuple_New(Py_ssize_t);
CKGEN_PYTHON PyObject* PyTuple_Pack(Py_ssize_t, ...);
CKGEN_PYTHON int PyTuple_SetItem(PyObject*, Py_ssize_t, PyObject*);
CKGEN_PYTHON Py_ssize_t PyTuple_Size(PyObject*);
CKGEN_PYTHON PyObject* PyUnicode_DecodeUTF8(const char*, Py_ssize_t, const char* errors);
CKGEN_PYTHON PyObject* PyUnicode_InternFromString(const char*);
#undef CKGEN_PYTHON
}

namespace ckgen::inline v1::detail {

inline constexpr int kFastCall = 0x80;  // METH_FASTCALL

/// A reference that is given back.
class Owned {
 public:
  explicit Owned(PyObject* object) noexcept : object_(object) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (object_ != nullptr) Py_DecRef(object_);
  }
  PyObject* get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  PyObject* object_;
};

}  // namespace ckgen::inline v1::detail
