/* What Python calls of a built library beside the C API: a cached call of an operation without an interpreter's detour.
 *
 * Only the stable ABI of Python 3.11 and newer is used, and no header of Python's. Its functions are weak symbols, so
 * that a program without Python links and runs as ever. ckgen.runtime.native says what the functions take. */
#ifndef CKGEN_C_API_PYTHON_H
#define CKGEN_C_API_PYTHON_H

#include <ckgen/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A new reference to a Python tuple of the functions call, call_one, key, site, launch and read_with; null, with a
 * Python error set where there is a Python, if it cannot be made. The caller holds the GIL. */
CKGEN_API void* ckgen_python_functions(void);

#ifdef __cplusplus
}
#endif
#endif
