# A toolchain file for what no other build shares and what runs small problems: compiled in half the time.
set(CMAKE_CXX_FLAGS_RELEASE "-O0" CACHE STRING "")
set(CKGEN_HOST_OPTIMISATION "-O0" CACHE STRING "")
set(CKGEN_HOST_LEVELS "x86_64_v3" CACHE STRING "")
