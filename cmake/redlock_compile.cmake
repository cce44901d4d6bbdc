# How this project compiles its own files: warnings and sanitizers; knows no target's sources.
# SPDX-License-Identifier: MIT

# Warnings as a private requirement, so that users of the library inherit none. Conversions
# between signed and unsigned are left out: clang counts them among -Wconversion, g++ does not. Only
# g++ can look for shadows of local names alone: those of a file's are no mistake.
add_library(redlock_warnings INTERFACE)
target_compile_options(redlock_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion
    $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>
    # Once it optimises or instruments, g++ 12 suspects the standard library's strings and Asio's
    # executors.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-maybe-uninitialized>
    # Files that are compiled together are all included, but headers they are not. Elsewhere the flags
    # stay those of the packages that the tests make: a compiler cache serves both.
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wno-subobject-linkage>
    $<$<BOOL:${REDLOCK_WARNINGS_AS_ERRORS}>:-Werror>)

# Assertions name a file by its path in the project: so no binary holds a path of the machine that made
# it, and a compiler cache serves each clone.
add_compile_options("-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")

# Sanitizers have to reach every object and every link of the build, so they are set for all.
if(REDLOCK_SANITIZE)
    add_compile_options(-fsanitize=${REDLOCK_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer
                        # clang 14 cannot emit what this one writes before a coroutine.
                        $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
    add_link_options(-fsanitize=${REDLOCK_SANITIZE})
endif()

# redlock_computing_target(NAME): one of which tests run so much that the sanitizers' builds, which are
# not optimised, compile it with optimisation all the same.
function(redlock_computing_target name)
    if(REDLOCK_SANITIZE)
        target_compile_options(${name} PRIVATE -O1)
    endif()
endfunction()

# redlock_waiting_target(NAME): one that mostly waits, so that where tests are built it is not optimised.
function(redlock_waiting_target name)
    if(REDLOCK_BUILD_TESTS AND NOT REDLOCK_SANITIZE)
        target_compile_options(${name} PRIVATE -O0)
    endif()
endfunction()

# redlock_own_target(NAME): a test, tool, benchmark or example of this project.
function(redlock_own_target name)
    target_compile_features(${name} PRIVATE cxx_std_20)
    set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
    target_link_libraries(${name} PRIVATE redlock_warnings)
endfunction()

# Targets of the calling folder compile tests/support/project.cpp, which alone has this path in it: what
# a compiler cache has of all other files holds in every clone.
function(redlock_has_project_folder)
    set_source_files_properties("${PROJECT_SOURCE_DIR}/tests/support/project.cpp" PROPERTIES
        COMPILE_DEFINITIONS "REDLOCK_PROJECT_FOLDER=\"${PROJECT_SOURCE_DIR}\""
        SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
