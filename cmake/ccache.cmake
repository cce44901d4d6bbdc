# Compiles through ccache where it is installed; the presets include this, nothing else does.
# SPDX-License-Identifier: MIT
find_program(REDLOCK_CCACHE ccache)
if(REDLOCK_CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER "${REDLOCK_CCACHE}" CACHE STRING "Set by cmake/ccache.cmake")
    set(CMAKE_CXX_COMPILER_LAUNCHER "${REDLOCK_CCACHE}" CACHE STRING "Set by cmake/ccache.cmake")
endif()
