/* The C API of a GPU's memory, events and graphs, through the vendor's runtime that the dispatcher has open: for
 * programs that check and time kernels without that runtime's own headers.
 *
 * `device` is one of kind gpu, and the calling thread's current one; any other is CKGEN_NO_DEVICE. */
#ifndef CKGEN_C_API_GPU_H
#define CKGEN_C_API_GPU_H

#include <ckgen/c_api.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ckgen_event ckgen_event;
typedef struct ckgen_graph ckgen_graph;

/* The runtime's name and the driver's version as it counts, such as "CUDA 13000". */
CKGEN_API ckgen_status ckgen_gpu_driver(const ckgen_device* device, ckgen_message text);

/* Where the device is on the machine's bus, as its vendor writes it: "0000:1b:00.0". */
CKGEN_API ckgen_status ckgen_gpu_bus(const ckgen_device* device, ckgen_message text);

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

/* A stream of the device, whose default stream waits for it and is waited for. */
CKGEN_API ckgen_status ckgen_stream_create(const ckgen_device* device, void** stream, ckgen_message message);
CKGEN_API ckgen_status ckgen_stream_destroy(const ckgen_device* device, void* stream, ckgen_message message);

/* What a stream is told between these is kept as a graph, and done when that is launched. Kernels must be loaded:
 * ckgen_run has done so. */
CKGEN_API ckgen_status ckgen_capture_begin(const ckgen_device* device, void* stream, ckgen_message message);
CKGEN_API ckgen_status ckgen_capture_end(const ckgen_device* device, void* stream, ckgen_graph** out,
                                         ckgen_message message);
/* Into the graph that is captured of a stream: the event is recorded there at each launch of it. */
CKGEN_API ckgen_status ckgen_event_capture(ckgen_event* event, void* stream, ckgen_message message);
CKGEN_API ckgen_status ckgen_graph_launch(ckgen_graph* graph, void* stream, ckgen_message message);
CKGEN_API void ckgen_graph_destroy(ckgen_graph* graph);

#ifdef __cplusplus
}
#endif

#endif
