# Install rules and the package: find_package(hiris) gives hiris::hiris, hiris::cpu, ::cuda, ::amd.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hiris)

install(TARGETS hiris_cpu hiris_cuda hiris_amd EXPORT hirisTargets
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT hirisTargets NAMESPACE hiris:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/hirisConfig.cmake.in
  ${PROJECT_BINARY_DIR}/hirisConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hirisConfigVersion.cmake
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/hirisConfig.cmake ${PROJECT_BINARY_DIR}/hirisConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/HirisPlatform.cmake ${PROJECT_SOURCE_DIR}/cmake/HirisCollectives.cmake
  DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/hiris)
