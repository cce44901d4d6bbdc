# What is installed, and packed by cpack: library, headers, CMake package and pkg-config file; knows no tool.
# SPDX-License-Identifier: MIT
include(CMakePackageConfigHelpers)

set(redlock_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/redlock")
set(redlock_generated "${CMAKE_CURRENT_BINARY_DIR}/generated")

install(TARGETS redlock EXPORT redlock_targets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(REDLOCK_BOTH_LIBRARIES)
    install(TARGETS redlock_archive ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
install(DIRECTORY include/redlock DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp")
install(EXPORT redlock_targets NAMESPACE redlock:: DESTINATION "${redlock_package_dir}"
        FILE redlock-targets.cmake)

if(REDLOCK_WITH_TESTING)
    install(TARGETS redlock_testing EXPORT redlock_testing_targets
            ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    install(EXPORT redlock_testing_targets NAMESPACE redlock:: DESTINATION "${redlock_package_dir}"
            FILE redlock-testing.cmake)
    install(FILES cmake/Findhiredis_parser.cmake DESTINATION "${redlock_package_dir}")
endif()

if(REDLOCK_WITH_C)
    install(TARGETS redlock_c EXPORT redlock_c_targets
            LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
    install(FILES include/redlock/c.h include/redlock/c_nodes.h include/redlock/c_pending.h
                  include/redlock/c_types.h
            DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/redlock")
    install(EXPORT redlock_c_targets NAMESPACE redlock:: DESTINATION "${redlock_package_dir}"
            FILE redlock-c.cmake)
endif()

get_target_property(redlock_type redlock TYPE)
set(redlock_pc_calls " hiredis")
if(REDLOCK_WITH_TLS)
    string(APPEND redlock_pc_calls ", openssl")
endif()
set(redlock_pc_requires "")
set(redlock_pc_requires_private "")
if(redlock_type STREQUAL "STATIC_LIBRARY")
    set(redlock_is_static TRUE)
    # What a static library calls, every program links: also one that does not say --static.
    set(redlock_pc_requires "${redlock_pc_calls}")
    install(FILES cmake/Findhiredis_parser.cmake DESTINATION "${redlock_package_dir}")
else()
    set(redlock_is_static FALSE)
    if(REDLOCK_BOTH_LIBRARIES)
        set(redlock_pc_requires_private "${redlock_pc_calls}")
    endif()
endif()
configure_package_config_file(cmake/redlock-config.cmake.in
    "${redlock_generated}/redlock-config.cmake" INSTALL_DESTINATION "${redlock_package_dir}")
# Before 1.0 each minor version has an ABI and an API of its own.
write_basic_package_version_file("${redlock_generated}/redlock-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${redlock_generated}/redlock-config.cmake"
              "${redlock_generated}/redlock-config-version.cmake"
        DESTINATION "${redlock_package_dir}")

# The prefix follows from where the file lies, so that an installed tree can be moved.
file(RELATIVE_PATH redlock_pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" redlock_pc_prefix "${redlock_pc_prefix}")
configure_file(cmake/redlock.pc.in "${redlock_generated}/redlock.pc" @ONLY)
install(FILES "${redlock_generated}/redlock.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(REDLOCK_WITH_C)
    configure_file(cmake/redlock_c.pc.in "${redlock_generated}/redlock_c.pc" @ONLY)
    install(FILES "${redlock_generated}/redlock_c.pc"
            DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()

if(PROJECT_IS_TOP_LEVEL)
    set(CPACK_GENERATOR TGZ)
    set(CPACK_PACKAGE_FILE_NAME
        "redlock-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
    string(TOLOWER "${CPACK_PACKAGE_FILE_NAME}" CPACK_PACKAGE_FILE_NAME)
    set(CPACK_VERBATIM_VARIABLES ON)
    include(CPack)
endif()
