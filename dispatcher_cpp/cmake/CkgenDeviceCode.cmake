# GPU code of a generated library: `ckgen build --emit library` with the options of the library itself, as a build rule.
#
# Needs the toolchain of `ckgen toolchain amd`, or a ROCm that it finds; one unit per AMD instance takes about half a
# minute of one core when it is new, and nothing when ckgen's cache has it. register_all() then attaches the code.
include_guard(GLOBAL)

function(_ckgen_link_device_code where name state out ckgen)
  get_target_property(supported ckgen::dispatcher CKGEN_DEVICE_CODE)
  if(NOT supported)
    message(FATAL_ERROR "${where}: DEVICE_CODE needs a ckgen::dispatcher that was built with zlib (CKGEN_DEVICE_CODE).")
  endif()
  set(device "${name}_device")
  set(folder "${state}/${device}")
  set(library "${folder}/lib${device}.a")
  # What the units include may change without any change of the tree.
  cmake_path(GET CMAKE_CURRENT_FUNCTION_LIST_DIR PARENT_PATH sources)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${sources}/backends/*.hpp" "${sources}/backends/*/shim/*"
    "${sources}/hip/*.h" "${sources}/include/ckgen/*.hpp")
  add_custom_command(
    OUTPUT "${folder}.stamp"
    BYPRODUCTS "${library}" "${folder}/device_library.hpp"
    COMMAND ${ckgen} build ${ARGN} --as-generated --emit library --name "${device}" --out "${folder}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${folder}.stamp"
    DEPENDS "${state}/${name}.stamp" ${headers}
    COMMENT "ckgen: GPU code of ${name}"
    USES_TERMINAL
    VERBATIM)
  add_custom_target(${device}_build DEPENDS "${folder}.stamp")
  add_dependencies(${name} ${device}_build)
  target_compile_definitions(${name} PRIVATE CKGEN_DEVICE_LIBRARY=${device})
  target_link_libraries(${name} PRIVATE "$<BUILD_INTERFACE:${library}>")
endfunction()
