// What CK's build would configure: every type that the ops use, XDL kernels only.
//
// CK_USE_OCP_FP8 stays undefined: ck::f8_t is then the FNUZ type by name on every arch, and its bits mean what the
// arch's matrix instructions take them for (FNUZ on gfx942, OCP on gfx950), as our kernels convert no fp8 value.
#pragma once

#define CK_ENABLE_INT8 1
#define CK_ENABLE_FP8 1
#define CK_ENABLE_BF8 1
#define CK_ENABLE_FP16 1
#define CK_ENABLE_BF16 1
#define CK_ENABLE_FP32 1
#define CK_USE_XDL 1
