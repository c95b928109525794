# Finds the ckgen command of this version. Searched, in this order:
#   1. CKGEN_EXECUTABLE, if it is set: nothing else is tried
#   2. `ckgen` on PATH, then beside the Python interpreter
#   3. the ckgen package of the Python interpreter
#   4. the Python sources of the checkout that this file lies in
# A ckgen of another version is never used.
include_guard(GLOBAL)

set(CKGEN_EXECUTABLE "" CACHE FILEPATH "The ckgen command; empty: PATH, the Python environment, the source checkout")
set_property(GLOBAL PROPERTY _ckgen_version "${CKGEN_VERSION}")  # the variable itself is not seen by callers elsewhere

# Sets `result` to the command line that runs ckgen; an error that lists what was tried where there is none.
function(_ckgen_command where result)
  get_property(known GLOBAL PROPERTY _ckgen_command)
  if(known)
    set(${result} "${known}" PARENT_SCOPE)
    return()
  endif()

  get_property(wanted GLOBAL PROPERTY _ckgen_version)
  set(tried "")
  if(CKGEN_EXECUTABLE)
    _ckgen_try("CKGEN_EXECUTABLE" "${CKGEN_EXECUTABLE}" tried known)
  else()
    find_package(Python3 3.11 COMPONENTS Interpreter QUIET)
    find_program(on_path ckgen NO_CACHE NO_CMAKE_FIND_ROOT_PATH)
    _ckgen_try("PATH" "${on_path}" tried known)
    if(Python3_EXECUTABLE)
      cmake_path(GET Python3_EXECUTABLE PARENT_PATH python_bin)
      find_program(beside ckgen PATHS "${python_bin}" NO_DEFAULT_PATH NO_CACHE)
      _ckgen_try("beside ${Python3_EXECUTABLE}" "${beside}" tried known)
      _ckgen_try("Python package" "${Python3_EXECUTABLE};-m;ckgen" tried known)
      _ckgen_checkout(sources)
      if(sources)
        if(NOT "$ENV{PYTHONPATH}" STREQUAL "")
          string(APPEND sources ":$ENV{PYTHONPATH}")
        endif()
        set(command "${CMAKE_COMMAND};-E;env;PYTHONPATH=${sources};${Python3_EXECUTABLE};-m;ckgen")
        _ckgen_try("source checkout" "${command}" tried known)
      endif()
    else()
      string(APPEND tried "  Python: no interpreter of version 3.11 or later (set Python3_EXECUTABLE)\n")
    endif()
  endif()

  if(NOT known)
    message(FATAL_ERROR
      "${where}: no ckgen ${wanted} found. Searched:\n${tried}"
      "Install it (pip install ckgen) or set CKGEN_EXECUTABLE.")
  endif()
  set_property(GLOBAL PROPERTY _ckgen_command "${known}")
  set(${result} "${known}" PARENT_SCOPE)
endfunction()

# Takes `command` if nothing was taken yet and it is of the `wanted` version; else says in `tried_var` what it is.
function(_ckgen_try label command tried_var known_var)
  if(${known_var})
    return()
  endif()
  string(REPLACE ";" " " shown "${command}")
  if(NOT command)
    set(outcome "not there")
  else()
    execute_process(COMMAND ${command} --version RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE complaint)
    string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+[^ \n]*" version "${said}")
    if(code EQUAL 0 AND version STREQUAL wanted)
      set(${known_var} "${command}" PARENT_SCOPE)
      return()
    elseif(code EQUAL 0)
      set(outcome "${shown}: version '${version}', needed is ${wanted}")
    else()
      string(STRIP "${complaint}" complaint)
      string(REGEX REPLACE "^.*\n" "" complaint "${complaint}")
      set(outcome "${shown}: does not run (${code}) ${complaint}")
    endif()
  endif()
  set(${tried_var} "${${tried_var}}  ${label}: ${outcome}\n" PARENT_SCOPE)
endfunction()

# The folder that holds the Python package, in a checkout and in a wheel; empty in an installed CMake package.
function(_ckgen_checkout result)
  set(${result} "" PARENT_SCOPE)
  foreach(folder IN ITEMS ../../codegen ../../../..)
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY "${CMAKE_CURRENT_FUNCTION_LIST_DIR}" NORMALIZE)
    if(EXISTS "${folder}/ckgen/version.py")
      set(${result} "${folder}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()
