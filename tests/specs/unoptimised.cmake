# A toolchain file for a library that no other build shares: it runs three small problems, and is compiled in half the
# time.
set(CMAKE_CXX_FLAGS_RELEASE "-O0" CACHE STRING "")
set(CKGEN_HOST_OPTIMISATION "-O0" CACHE STRING "")
set(CKGEN_HOST_LEVELS "x86_64_v3" CACHE STRING "")
