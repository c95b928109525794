/* The C API of a GPU's memory and events, through the vendor's runtime that the dispatcher has open: for programs that
 * check and time kernels without that runtime's own headers.
 *
 * `device` is one of kind gpu, and the calling thread's current one; any other is CKGEN_NO_DEVICE. */
#ifndef CKGEN_C_API_GPU_H
#define CKGEN_C_API_GPU_H

#include <ckgen/c_api.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ckgen_event ckgen_event;

/* The runtime's name and the driver's version as it counts, such as "CUDA 13000". */
CKGEN_API ckgen_status ckgen_gpu_driver(const ckgen_device* device, ckgen_message text);

CKGEN_API ckgen_status ckgen_gpu_allocate(const ckgen_device* device, uint64_t bytes, void** out,
                                          ckgen_message message);
CKGEN_API ckgen_status ckgen_gpu_release(const ckgen_device* device, void* memory, ckgen_message message);
/* Between host memory and the device's, behind what its default stream does; done when the call returns. */
CKGEN_API ckgen_status ckgen_gpu_upload(const ckgen_device* device, void* to, const void* from, uint64_t bytes,
                                        ckgen_message message);
CKGEN_API ckgen_status ckgen_gpu_download(const ckgen_device* device, void* to, const void* from, uint64_t bytes,
                                          ckgen_message message);
CKGEN_API ckgen_status ckgen_gpu_synchronize(const ckgen_device* device, void* stream, ckgen_message message);

/* An event is destroyed by the thread and on the device that made it. */
CKGEN_API ckgen_status ckgen_event_create(const ckgen_device* device, ckgen_event** out, ckgen_message message);
CKGEN_API void ckgen_event_destroy(ckgen_event* event);
CKGEN_API ckgen_status ckgen_event_record(ckgen_event* event, void* stream, ckgen_message message);
/* Waits for `end`. Both were recorded on one device. */
CKGEN_API ckgen_status ckgen_event_elapsed(const ckgen_event* begin, const ckgen_event* end, double* microseconds,
                                           ckgen_message message);

#ifdef __cplusplus
}
#endif

#endif
