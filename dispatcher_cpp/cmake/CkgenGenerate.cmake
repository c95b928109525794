# ckgen_generate(<name>
#   TARGETS     <target>...      what to build for: gfx942:80 gfx942:304:mi325x; "a;b" and a,b are lists too
#   [OPS        <op>...]         default: all that exist
#   [TUNING     <csv|dir>...]    in place of the shipped tables; as +<csv|dir> beside them; later ones win
#   [KERNEL_SETS <yaml>...]      further kernels, for shapes that no table answers
#   [KERNELS    <glob>...]       only kernels whose name fits, as the tables write it
#   [SIGNATURES <glob>...]       only signatures whose canonical name fits
#   [PROFILE    <name|yaml>...]  only what one of these profiles keeps, such as minimal
#   [PRETUNE    <csv>]           a list of shapes that are tuned on this machine first, for TARGETS native
#   [PRETUNE_BUDGET <time>]      for that, such as 10m; default: 1m
#   [CONFIG     <toml>]          what answers the rest, as `ckgen --config`; no file is looked for
#   [OUT_DIR    <dir>])          default: <build dir>/ckgen/<name>
#
# Creates the library <name>: STATIC, or SHARED where BUILD_SHARED_LIBS is on. It links ckgen::dispatcher and brings
# the include directory of <name>/register.hpp:
#
#   ckgen_generate(my_kernels TARGETS gfx942 gfx950 TUNING tables/)
#   target_link_libraries(server PRIVATE my_kernels)
#
# ckgen runs once while CMake configures (the list of sources comes from it) and as a build rule whenever a table, a
# template, an arch spec or ckgen itself changed. Files that come out the same keep their times: nothing is rebuilt.
# A new or removed source file configures again by itself. Relative paths are relative to the calling CMakeLists.txt.
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/CkgenFind.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/CkgenDeviceCode.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/CkgenPretune.cmake")

function(ckgen_generate name)
  set(lists TARGETS OPS TUNING KERNEL_SETS KERNELS SIGNATURES PROFILE)
  cmake_parse_arguments(PARSE_ARGV 1 arg "DEVICE_CODE" "CONFIG;OUT_DIR;PRETUNE;PRETUNE_BUDGET" "${lists}")
  set(where "ckgen_generate(${name})")
  _ckgen_check_arguments("${where}" "${name}")

  foreach(list IN LISTS lists)
    string(REPLACE "\\;" ";" arg_${list} "${arg_${list}}")
    list(REMOVE_ITEM arg_${list} "")
  endforeach()
  if(NOT arg_TARGETS)
    message(FATAL_ERROR "${where}: TARGETS is empty. Name at least one, for example TARGETS gfx942 gfx950.")
  endif()

  set(state "${CMAKE_CURRENT_BINARY_DIR}/ckgen")
  if(arg_OUT_DIR)
    cmake_path(ABSOLUTE_PATH arg_OUT_DIR BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE OUTPUT_VARIABLE out)
  else()
    set(out "${state}/${name}")
  endif()
  file(MAKE_DIRECTORY "${state}")

  _ckgen_command("${where}" ckgen)
  set(config none)  # a file that happens to lie above the build folder decides nothing
  if(arg_CONFIG)
    cmake_path(ABSOLUTE_PATH arg_CONFIG BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE OUTPUT_VARIABLE config)
  endif()
  list(APPEND ckgen --config "${config}")
  string(JOIN "," targets ${arg_TARGETS})
  set(tables "")  # options of tables and kernels
  set(folders "")
  set(plus "+")
  foreach(table IN LISTS arg_TUNING)
    string(REGEX MATCH "^\\+" plus "${table}")
    string(REGEX REPLACE "^\\+" "" table "${table}")
    cmake_path(ABSOLUTE_PATH table BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    list(APPEND tables --tuning "${plus}${table}")
    _ckgen_folders("${table}" folders)
  endforeach()
  foreach(set IN LISTS arg_KERNEL_SETS)
    cmake_path(ABSOLUTE_PATH set BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    list(APPEND tables --kernel-set "${set}")
  endforeach()
  foreach(glob IN LISTS arg_KERNELS)
    list(APPEND tables --kernels "${glob}")
  endforeach()
  if(arg_PRETUNE)
    cmake_path(ABSOLUTE_PATH arg_PRETUNE BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE OUTPUT_VARIABLE shapes)
    string(JOIN "," ops ${arg_OPS})
    _ckgen_or("${ops}" all ops)
    _ckgen_or("${arg_PRETUNE_BUDGET}" 1m budget)
    _ckgen_pretune("${where}" "${state}/${name}" "${ckgen}" "${ops}" "${shapes}" "${budget}" ${tables})
    list(APPEND tables --tuning "${plus}${state}/${name}.pretuned.csv")  # with a + where all others have one
  endif()

  set(what ${tables})
  foreach(op IN LISTS arg_OPS)
    list(APPEND what --ops "${op}")
  endforeach()
  foreach(profile IN LISTS arg_PROFILE)
    if(profile MATCHES "[./]")  # a file; a shipped profile's name has neither
      cmake_path(ABSOLUTE_PATH profile BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    endif()
    list(APPEND what --profile "${profile}")
  endforeach()
  foreach(glob IN LISTS arg_SIGNATURES)
    list(APPEND what --signatures "${glob}")
  endforeach()
  set(command ${ckgen} generate --targets "${targets}" --name "${name}" --out "${out}" ${what})

  _ckgen_run_at_configure("${where}" "${state}/${name}.configure" ${command})
  include("${out}/sources.cmake")
  list(TRANSFORM CKGEN_SOURCES PREPEND "${out}/")
  list(TRANSFORM CKGEN_HEADERS PREPEND "${out}/")

  # OUTPUT is a stamp, the files are BYPRODUCTS: both Ninja and Make then look at the files' own times. Ninja brings
  # sources.cmake up to date before it reads its rules; Make needs the inputs for that, and so does
  # a tune, which is done while CMake configures.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${out}/sources.cmake")
  if(arg_PRETUNE OR NOT CMAKE_GENERATOR MATCHES "Ninja")
    _ckgen_inputs("${state}/${name}.configure.d" inputs)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${inputs} ${folders})
  endif()
  add_custom_command(
    OUTPUT "${state}/${name}.stamp"
    BYPRODUCTS ${CKGEN_SOURCES} ${CKGEN_HEADERS} "${out}/manifest.json" "${out}/sources.cmake"
    COMMAND ${command} --stamp "${state}/${name}.stamp" --depfile "${state}/${name}.d"
    DEPENDS ${folders}
    DEPFILE "${state}/${name}.d"
    COMMENT "ckgen: ${name} for ${targets}"
    VERBATIM)
  add_custom_target(${name}_generate DEPENDS "${state}/${name}.stamp")

  add_library(${name} ${CKGEN_SOURCES} ${CKGEN_HEADERS})
  add_dependencies(${name} ${name}_generate)
  target_compile_features(${name} PUBLIC cxx_std_17)
  target_include_directories(${name} PUBLIC "$<BUILD_INTERFACE:${out}/include>" "$<INSTALL_INTERFACE:include>")
  target_link_libraries(${name} PUBLIC ckgen::dispatcher)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF)
  if(arg_DEVICE_CODE)
    _ckgen_link_device_code("${where}" "${name}" "${state}" "${out}" "${ckgen}" --targets "${targets}" ${what})
  endif()
endfunction()

# Everything that is wrong with the call itself; reads the caller's arg_ variables.
function(_ckgen_check_arguments where name)
  set(keywords "TARGETS, OPS, TUNING, KERNEL_SETS, KERNELS, SIGNATURES, PROFILE, PRETUNE, PRETUNE_BUDGET, CONFIG, OUT_DIR, DEVICE_CODE")
  if(NOT name MATCHES "^[A-Za-z][A-Za-z0-9_]*$" OR name MATCHES "__")
    message(FATAL_ERROR "${where}: '${name}' is not a C++ identifier; it names a CMake target, a folder and a namespace.")
  endif()
  if(TARGET "${name}")
    message(FATAL_ERROR "${where}: a target of that name exists already.")
  endif()
  if(NOT TARGET ckgen::dispatcher)
    message(FATAL_ERROR "${where}: there is no target ckgen::dispatcher. Call find_package(ckgen) or add_subdirectory(ckgen) first.")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    string(JOIN ", " missing ${arg_KEYWORDS_MISSING_VALUES})
    message(FATAL_ERROR "${where}: keyword without a value: ${missing}.")
  endif()
  # A misspelt keyword is swallowed as a value of the one before it.
  foreach(value IN LISTS arg_UNPARSED_ARGUMENTS arg_TARGETS arg_OPS arg_TUNING arg_KERNEL_SETS arg_KERNELS arg_SIGNATURES arg_PROFILE)
    if(value IN_LIST arg_UNPARSED_ARGUMENTS OR (value MATCHES "^[A-Z][A-Z_]+$" AND NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${value}"))
      message(FATAL_ERROR "${where}: unknown keyword '${value}'. Known: ${keywords}.")
    endif()
  endforeach()
  if(DEFINED arg_PRETUNE AND NOT "${arg_TARGETS}" MATCHES "(^|[;,])native($|[;,])")
    message(FATAL_ERROR "${where}: PRETUNE times kernels on this machine's CPU: TARGETS must name native.")
  endif()
  if(DEFINED arg_PRETUNE_BUDGET AND NOT DEFINED arg_PRETUNE)
    message(FATAL_ERROR "${where}: PRETUNE_BUDGET without PRETUNE.")
  endif()
  if(NOT DEFINED arg_TARGETS)
    message(FATAL_ERROR "${where}: TARGETS is missing. Name at least one, for example TARGETS gfx942 gfx950.")
  endif()
endfunction()

# A value, or what is usual where there is none.
function(_ckgen_or value usual result)
  if("${value}" STREQUAL "")
    set(value "${usual}")
  endif()
  set(${result} "${value}" PARENT_SCOPE)
endfunction()

# Runs ckgen now; its own messages are shown as they are when it fails.
function(_ckgen_run_at_configure where prefix)
  execute_process(
    COMMAND ${ARGN} --stamp "${prefix}.stamp" --depfile "${prefix}.d"
    RESULT_VARIABLE result
    OUTPUT_QUIET
    ERROR_VARIABLE said)
  if(NOT result EQUAL 0)
    string(REGEX REPLACE "(^|\n)" "\\1  " said "${said}")
    string(REPLACE ";" " " shown "${ARGN}")
    message(FATAL_ERROR "${where}: ckgen failed (${result}):\n${said}\n  command: ${shown}")
  endif()
endfunction()

# Appends a folder and those in it: a file that is added there changes their times.
function(_ckgen_folders path result)
  if(NOT IS_DIRECTORY "${path}")
    return()
  endif()
  set(found ${${result}} "${path}")
  file(GLOB_RECURSE entries LIST_DIRECTORIES true "${path}/*")
  foreach(entry IN LISTS entries)
    if(IS_DIRECTORY "${entry}")
      list(APPEND found "${entry}")
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# The files that a depfile names.
function(_ckgen_inputs depfile result)
  file(READ "${depfile}" text)
  string(REGEX REPLACE "^([^\\\n]|\\\\[^\n])*: " "" text "${text}")
  string(REPLACE "\\\n" " " text "${text}")
  string(REPLACE "\\ " "\t" text "${text}")
  string(STRIP "${text}" text)
  string(REGEX REPLACE "[ \n]+" ";" inputs "${text}")
  string(REPLACE "\t" " " inputs "${inputs}")
  string(REPLACE "\\#" "#" inputs "${inputs}")
  string(REPLACE "$$" "$" inputs "${inputs}")
  set(${result} ${inputs} PARENT_SCOPE)
endfunction()
