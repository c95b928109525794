# Sources of a target that are compiled as one unit, since most of compiling is reading headers.

set(CKGEN_UNITS_ROOT "${CMAKE_CURRENT_LIST_DIR}/..")

# The text of such a unit is the same in any project that adds this one, and where it is searched for is not its folder,
# as with CMake's own units: so a compiler's cache knows it by its text, and need not read what it includes.
function(ckgen_compile_as_unit target name)  # and the sources, relative to the current folder
  set(text "")
  foreach(source IN LISTS ARGN)
    file(RELATIVE_PATH path "${CKGEN_UNITS_ROOT}" "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
    string(APPEND text "#include \"${path}\"\n")
  endforeach()
  set(unit "${CMAKE_CURRENT_BINARY_DIR}/units/${name}.cpp")
  file(GENERATE OUTPUT "${unit}" CONTENT "${text}")
  set_source_files_properties(${ARGN} PROPERTIES HEADER_FILE_ONLY ON)
  target_sources(${target} PRIVATE "${unit}")
endfunction()
