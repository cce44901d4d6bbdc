# Finds the hiredis reply parser; knows nothing of the targets that use it.
# SPDX-License-Identifier: MIT
#
# The package that hiredis installs differs by distribution in its name, its variables and in
# whether it has a target; the header and the library do not.
find_path(hiredis_parser_INCLUDE_DIR NAMES hiredis/read.h)
find_library(hiredis_parser_LIBRARY NAMES hiredis)

if(hiredis_parser_INCLUDE_DIR AND EXISTS "${hiredis_parser_INCLUDE_DIR}/hiredis/hiredis.h")
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

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(hiredis_parser
    REQUIRED_VARS hiredis_parser_LIBRARY hiredis_parser_INCLUDE_DIR
    VERSION_VAR hiredis_parser_VERSION)
mark_as_advanced(hiredis_parser_INCLUDE_DIR hiredis_parser_LIBRARY)

if(hiredis_parser_FOUND AND NOT TARGET hiredis_parser::hiredis_parser)
    add_library(hiredis_parser::hiredis_parser UNKNOWN IMPORTED)
    set_target_properties(hiredis_parser::hiredis_parser PROPERTIES
        IMPORTED_LOCATION "${hiredis_parser_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${hiredis_parser_INCLUDE_DIR}")
endif()
