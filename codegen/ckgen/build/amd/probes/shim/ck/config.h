// What CK's own build would configure, for the probes: every type that they name.
#pragma once

#define CK_ENABLE_INT8 1
#define CK_ENABLE_FP8 1
#define CK_ENABLE_BF8 1
#define CK_ENABLE_FP16 1
#define CK_ENABLE_BF16 1
#define CK_ENABLE_FP32 1
#define CK_USE_XDL 1
