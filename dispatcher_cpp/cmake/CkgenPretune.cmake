# A table tuned on this machine for a generated library: `ckgen tune`, while CMake configures. Nothing else runs then, as
# timing demands, and the list of sources comes from all tables.
#
# It runs again when the list of shapes, the call, a table, or a file of ckgen changed; what its journal holds of the
# same kernels is not timed again.
include_guard(GLOBAL)

# ARGN: options of tables and kernels, as the library is generated with. Leaves the table at "${prefix}.pretuned.csv".
function(_ckgen_pretune where prefix ckgen ops shapes budget)
  if(NOT EXISTS "${shapes}" OR IS_DIRECTORY "${shapes}")
    message(FATAL_ERROR "${where}: PRETUNE: there is no list of shapes ${shapes}.")
  endif()
  set(table "${prefix}.pretuned.csv")
  set(stamp "${prefix}.pretuned.stamp")
  set(command ${ckgen} tune "${ops}" --target native --shapes "${shapes}" --budget "${budget}" --out "${table}" --resume ${ARGN})
  file(SHA256 "${shapes}" digest)
  string(REPLACE ";" " " shown "${command}")
  set(wanted "${shown}\n${digest}\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${shapes}")

  set(inputs "")
  if(EXISTS "${prefix}.configure.d")
    _ckgen_inputs("${prefix}.configure.d" inputs)
    list(REMOVE_ITEM inputs "${table}")
  endif()
  if(EXISTS "${stamp}" AND EXISTS "${table}")
    file(READ "${stamp}" known)
    set(is_new "")
    foreach(input IN LISTS inputs)
      if("${input}" IS_NEWER_THAN "${stamp}")
        set(is_new "${input}")
        break()
      endif()
    endforeach()
    if(known STREQUAL wanted AND NOT is_new)
      return()
    endif()
  endif()

  file(REMOVE "${stamp}" "${table}")  # rows of shapes that are no longer asked
  message(STATUS "ckgen: tuning for this CPU, ${budget} at most once its kernels are built")
  execute_process(COMMAND ${command} RESULT_VARIABLE result OUTPUT_VARIABLE told ERROR_VARIABLE said ECHO_ERROR_VARIABLE)
  if(result EQUAL 1)
    message(WARNING "${where}: PRETUNE: candidates failed, the others were tuned:\n${told}")
  elseif(NOT result EQUAL 0)
    message(FATAL_ERROR "${where}: PRETUNE: ckgen failed (${result}):\n${said}\n  command: ${shown}")
  endif()
  file(WRITE "${stamp}" "${wanted}")
endfunction()
