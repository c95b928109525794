// Present because kernel headers include it; ck_tile's own bf16 types need nothing from it.
#pragma once

#include <hip/hip_runtime.h>
