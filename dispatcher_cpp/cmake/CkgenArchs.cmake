# Archs of the caller's own: where the environment variable CKGEN_ARCH_SPECS names a folder of specs, the library is
# compiled with an arch_data.hpp and a product_data.hpp that tell of them too. Part of ckgen's own build; needs Python
# with ckgen's packages.
include("${CMAKE_CURRENT_LIST_DIR}/CkgenFind.cmake")

# The folder, of which `ckgen/arch_data.hpp` and `ckgen/product_data.hpp` are found before the checked-in ones; empty
# without archs of the caller's own.
function(ckgen_archs_include result)
  set(${result} "" PARENT_SCOPE)
  set(specs "$ENV{CKGEN_ARCH_SPECS}")
  if(specs STREQUAL "")
    return()
  endif()
  find_package(Python3 3.11 COMPONENTS Interpreter REQUIRED)
  _ckgen_checkout(sources)
  set(include "${PROJECT_BINARY_DIR}/archs/include")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env "PYTHONPATH=${sources}" "${Python3_EXECUTABLE}" -m ckgen.emit.arch_header --write
      "${include}/ckgen/arch_data.hpp"
    RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "ckgen: the archs of CKGEN_ARCH_SPECS=${specs} cannot be read\n${said}")
  endif()
  file(GLOB files CONFIGURE_DEPENDS "${specs}/*.json")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  set(${result} "${include}" PARENT_SCOPE)
endfunction()
