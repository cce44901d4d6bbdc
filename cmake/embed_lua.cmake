# Embeds the Lua scripts with their SHA1 in a C++ source; knows nothing of what the scripts do.
# SPDX-License-Identifier: MIT
#
# redlock_embed_lua(OUTPUT <file.cpp> DIRECTORY <dir>) adds the rule; the same file, run by
# `cmake -P`, is the generator. A line "-- include shared/NAME.lua" stands for that file's text:
# Redis scripts share no code. Lines of comment stay here: each node would be sent them. The scripts
# of <dir>/seldom are left out of the list of those that each handshake loads.

function(redlock_embed_lua)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUTPUT;DIRECTORY" "")
    file(GLOB scripts CONFIGURE_DEPENDS "${arg_DIRECTORY}/*.lua")
    file(GLOB seldom CONFIGURE_DEPENDS "${arg_DIRECTORY}/seldom/*.lua")
    file(GLOB parts CONFIGURE_DEPENDS "${arg_DIRECTORY}/shared/*.lua")
    set(names "")
    foreach(script IN LISTS scripts)
        get_filename_component(name "${script}" NAME_WLE)
        list(APPEND names "${name}")
    endforeach()
    foreach(script IN LISTS seldom)
        get_filename_component(name "${script}" NAME_WLE)
        list(APPEND names "seldom/${name}")
    endforeach()
    # The names stand in the command, so that it runs again when a file went away.
    list(JOIN names "," names)
    add_custom_command(
        OUTPUT "${arg_OUTPUT}"
        COMMAND "${CMAKE_COMMAND}" "-Doutput=${arg_OUTPUT}" "-Ddirectory=${arg_DIRECTORY}"
                "-Dnames=${names}" -P "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
        DEPENDS ${scripts} ${seldom} ${parts} "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
        COMMENT "Embedding the Lua scripts"
        VERBATIM)
endfunction()

# The text of a file; fails where CMake can't read it to the byte.
function(redlock_read_lua file out)
    file(READ "${file}" text)
    file(SIZE "${file}" size)
    string(LENGTH "${text}" length)
    if(NOT size EQUAL length)
        message(FATAL_ERROR "${file}: has bytes that CMake cannot read")
    endif()
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

# The text with those of the parts that it includes.
function(redlock_include_lua directory text out)
    while(text MATCHES "(^|\n)-- include (shared/[a-z0-9_]+\\.lua)\n")
        set(part "${CMAKE_MATCH_2}")
        redlock_read_lua("${directory}/${part}" included)
        string(REPLACE "-- include ${part}\n" "${included}" text "${text}")
    endwhile()
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

# The text without the lines that are comments, or empty.
function(redlock_strip_lua text out)
    string(REGEX REPLACE "\n *--[^\n]*" "" text "\n${text}")
    string(REGEX REPLACE "\n\n+" "\n" text "${text}")
    string(REGEX REPLACE "^\n" "" text "${text}")
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Fails unless the text survives a raw string byte for byte, and is no longer than every compiler
# takes.
function(redlock_check_lua file name text)
    if(NOT name MATCHES "^[a-z][a-z0-9_]*$")
        message(FATAL_ERROR "${file}: the name must be a C++ name in snake case")
    endif()
    string(LENGTH "${text}" size)
    if(size EQUAL 0 OR size GREATER 65535)
        message(FATAL_ERROR "${file}: ${size} bytes; 1 to 65535 are allowed")
    endif()
    string(FIND "${text}" ")lua\"" delimiter)
    string(FIND "${text}" "\r" carriage_return)
    if(NOT delimiter EQUAL -1)
        message(FATAL_ERROR "${file}: contains the end of the raw string, )lua\"")
    endif()
    if(NOT carriage_return EQUAL -1)
        message(FATAL_ERROR "${file}: contains a carriage return")
    endif()
endfunction()

function(redlock_generate_scripts output directory names)
    string(REPLACE "," ";" names "${names}")
    set(table "")
    set(accessors "")
    set(index 0)
    set(usual 0)
    foreach(path IN LISTS names)
        set(file "${directory}/${path}.lua")
        get_filename_component(name "${path}" NAME)
        redlock_read_lua("${file}" text)
        redlock_include_lua("${directory}" "${text}" text)
        redlock_strip_lua("${text}" text)
        redlock_check_lua("${file}" "${name}" "${text}")
        string(SHA1 sha1 "${text}")
        string(APPEND table "    {\"${name}\", R\"lua(${text})lua\", \"${sha1}\"},\n")
        string(APPEND accessors
            "const redlock::resp::script& redlock::resp::${name}() noexcept {\n"
            "    return table[${index}];\n}\n\n")
        math(EXPR index "${index} + 1")
        if(NOT path MATCHES "^seldom/")
            set(usual "${index}")
        endif()
    endforeach()
    if(index EQUAL 0)
        message(FATAL_ERROR "${directory}: no scripts")
    endif()
    file(WRITE "${output}"
        "// The text and SHA1 of the Lua scripts, generated from lua/; changes here are lost.\n"
        "// SPDX-License-Identifier: MIT\n"
        "#include \"wire/resp/command.hpp\"\n\n"
        "namespace {\n\n"
        "constexpr redlock::resp::script table[] = {\n${table}};\n\n"
        "}  // namespace\n\n"
        "${accessors}"
        "std::span<const redlock::resp::script> redlock::resp::all_scripts() noexcept {\n"
        "    return std::span(table).first(${usual});\n}\n")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    redlock_generate_scripts("${output}" "${directory}" "${names}")
endif()
