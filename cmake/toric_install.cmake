# Installs the library, its one header and the package that find_package(toric) reads: toric::toric is all a program links.
include(CMakePackageConfigHelpers)

set(toric_package ${CMAKE_INSTALL_LIBDIR}/cmake/toric)
install(TARGETS toric EXPORT toricTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/include/toric/toric.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/toric COMPONENT library)
install(EXPORT toricTargets NAMESPACE toric:: DESTINATION ${toric_package} COMPONENT library)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/toricConfig.cmake.in ${PROJECT_BINARY_DIR}/toricConfig.cmake
  INSTALL_DESTINATION ${toric_package})
# While the major version is 0, a new minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/toricConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/toricConfig.cmake ${PROJECT_BINARY_DIR}/toricConfigVersion.cmake
  DESTINATION ${toric_package} COMPONENT library)
add_library(toric::toric ALIAS toric)
