# Finds the hiredis reply parser; knows nothing of the targets that use it.
# SPDX-License-Identifier: MIT
#
# hiredis' own package is taken where it has a target. Those of many distributions have none, and
# differ in name and variables; the header and the library do not. These two are taken from one
# prefix, or the parser of one version would be called by the declarations of another.
if(NOT hiredis_parser_INCLUDE_DIR AND NOT hiredis_parser_LIBRARY)
    find_package(hiredis CONFIG QUIET)
endif()
if(TARGET hiredis::hiredis)
    set(hiredis_parser_LIBRARY hiredis::hiredis)  # brings its headers
    set(hiredis_parser_VERSION "${hiredis_VERSION}")
    set(hiredis_parser_required hiredis_parser_LIBRARY)
else()
    find_path(hiredis_parser_INCLUDE_DIR NAMES hiredis/read.h)
    string(REGEX REPLACE "/include(/[^/]+)?/?$" "" hiredis_parser_prefix
           "${hiredis_parser_INCLUDE_DIR}")
    # A debug build of hiredis is named hiredisd.
    find_library(hiredis_parser_LIBRARY NAMES hiredis hiredisd NAMES_PER_DIR
        PATHS "${hiredis_parser_prefix}" NO_DEFAULT_PATH
        PATH_SUFFIXES "lib/${CMAKE_LIBRARY_ARCHITECTURE}" lib lib64)
    if(EXISTS "${hiredis_parser_INCLUDE_DIR}/hiredis/hiredis.h")
        set(hiredis_parser_VERSION "")
        foreach(hiredis_parser_part MAJOR MINOR PATCH)
            file(STRINGS "${hiredis_parser_INCLUDE_DIR}/hiredis/hiredis.h" hiredis_parser_line
                 REGEX "^#define HIREDIS_${hiredis_parser_part} +[0-9]+" LIMIT_COUNT 1)
            string(REGEX MATCH "[0-9]+" hiredis_parser_number "${hiredis_parser_line}")
            string(APPEND hiredis_parser_VERSION ".${hiredis_parser_number}")
        endforeach()
        string(SUBSTRING "${hiredis_parser_VERSION}" 1 -1 hiredis_parser_VERSION)
        unset(hiredis_parser_part)
        unset(hiredis_parser_line)
        unset(hiredis_parser_number)
    endif()
    mark_as_advanced(hiredis_parser_INCLUDE_DIR hiredis_parser_LIBRARY)
    set(hiredis_parser_required hiredis_parser_LIBRARY hiredis_parser_INCLUDE_DIR)
    unset(hiredis_parser_prefix)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(hiredis_parser
    REQUIRED_VARS ${hiredis_parser_required}
    VERSION_VAR hiredis_parser_VERSION
    REASON_FAILURE_MESSAGE "the library and its headers must lie under one prefix")
unset(hiredis_parser_required)

if(hiredis_parser_FOUND AND NOT TARGET hiredis_parser::hiredis_parser)
    if(TARGET hiredis::hiredis)
        add_library(hiredis_parser::hiredis_parser INTERFACE IMPORTED)
        set_target_properties(hiredis_parser::hiredis_parser PROPERTIES
            INTERFACE_LINK_LIBRARIES hiredis::hiredis)
    else()
        add_library(hiredis_parser::hiredis_parser UNKNOWN IMPORTED)
        set_target_properties(hiredis_parser::hiredis_parser PROPERTIES
            IMPORTED_LOCATION "${hiredis_parser_LIBRARY}"
            INTERFACE_INCLUDE_DIRECTORIES "${hiredis_parser_INCLUDE_DIR}")
    endif()
endif()
