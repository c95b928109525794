/* What a shared ckgen library exports; everything else of it is hidden. */
#ifndef CKGEN_EXPORT_H
#define CKGEN_EXPORT_H

#if defined(__GNUC__)
#define CKGEN_API __attribute__((visibility("default")))
#else
#define CKGEN_API
#endif

#endif
