# The same libraries in every consumer; BUILD_SHARED_LIBS decides what they are.
set(table "${CMAKE_CURRENT_LIST_DIR}/a8w8_tuned_gemm.csv")
ckgen_generate(quoted TARGETS "gfx942;gfx950" TUNING "${table}" SIGNATURES "gemm_int8_bf16*")
ckgen_generate(unquoted TARGETS gfx942 gfx950 TUNING "${table}" SIGNATURES gemm_int8_bf16_rcr_rowwise OUT_DIR "${CMAKE_CURRENT_BINARY_DIR}/elsewhere")

get_target_property(type quoted TYPE)
if(BUILD_SHARED_LIBS AND NOT type STREQUAL "SHARED_LIBRARY" OR NOT BUILD_SHARED_LIBS AND NOT type STREQUAL "STATIC_LIBRARY")
  message(FATAL_ERROR "BUILD_SHARED_LIBS is '${BUILD_SHARED_LIBS}', the library is ${type}")
endif()

add_executable(use ../use.cpp)
target_link_libraries(use PRIVATE quoted unquoted)

add_executable(headers_only ../headers_only.cpp)
target_link_libraries(headers_only PRIVATE ckgen::headers)
