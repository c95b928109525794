# Install rules: the library, its headers, and a relocatable CMake package with ckgen_generate(). Part of ckgen's own build.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(ckgen_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/ckgen")

set_target_properties(ckgen_headers PROPERTIES EXPORT_NAME headers)
install(TARGETS ckgen_dispatcher_static ckgen_dispatcher_shared ckgen_headers EXPORT ckgenTargets)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/dispatcher_cpp/include/ckgen" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(CKGEN_ARCHS_INCLUDE)  # in place of the checked-in header
  install(DIRECTORY "${CKGEN_ARCHS_INCLUDE}/ckgen" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
endif()
install(EXPORT ckgenTargets NAMESPACE ckgen:: DESTINATION "${ckgen_package_dir}")

configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/ckgenConfig.cmake.in" "${PROJECT_BINARY_DIR}/ckgenConfig.cmake"
  INSTALL_DESTINATION "${ckgen_package_dir}")
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/ckgenConfigVersion.cmake" VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(
  FILES
    "${PROJECT_BINARY_DIR}/ckgenConfig.cmake"
    "${PROJECT_BINARY_DIR}/ckgenConfigVersion.cmake"
    "${CMAKE_CURRENT_LIST_DIR}/CkgenDeviceCode.cmake"
    "${CMAKE_CURRENT_LIST_DIR}/CkgenFind.cmake"
    "${CMAKE_CURRENT_LIST_DIR}/CkgenGenerate.cmake"
    "${CMAKE_CURRENT_LIST_DIR}/CkgenPretune.cmake"
  DESTINATION "${ckgen_package_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
