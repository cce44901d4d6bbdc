# What this configuration builds, what it does not, and how to ask for it; decides nothing.
# SPDX-License-Identifier: MIT

# redlock_say(NAME IS_ON WITH WITHOUT): a line of the summary.
function(redlock_say name is_on with without)
    string(LENGTH "${name}" length)
    math(EXPR missing "12 - ${length}")
    string(REPEAT " " ${missing} blanks)
    if(${is_on})
        message(STATUS "  ${name}${blanks}yes${with}")
    else()
        message(STATUS "  ${name}${blanks}no: ${without}")
    endif()
endfunction()

# redlock_why_not(VARIABLE IS_FOUND WHAT PACKAGE SWITCH): not found, or not wanted.
function(redlock_why_not variable is_found what package switch)
    if(${is_found})
        set(${variable} "-D${switch}=ON builds it" PARENT_SCOPE)
    else()
        set(${variable} "${what} was not found (Debian: ${package}); with it, -D${switch}=ON" PARENT_SCOPE)
    endif()
endfunction()

get_target_property(redlock_kind redlock TYPE)
if(redlock_kind STREQUAL "SHARED_LIBRARY")
    set(redlock_kind "shared (-DBUILD_SHARED_LIBS=OFF: static)")
else()
    set(redlock_kind "static (-DBUILD_SHARED_LIBS=ON: shared)")
endif()
message(STATUS "redlock ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}, by ${CMAKE_CXX_COMPILER_ID} "
               "${CMAKE_CXX_COMPILER_VERSION}, Boost ${Boost_VERSION_STRING}")
message(STATUS "  library     ${redlock_kind}")
redlock_why_not(redlock_tls "${OpenSSL_FOUND}" "OpenSSL 3" libssl-dev REDLOCK_WITH_TLS)
redlock_say(TLS "${REDLOCK_WITH_TLS}" ", OpenSSL ${OPENSSL_VERSION}" "${redlock_tls}")
redlock_why_not(redlock_lua "${LUA_FOUND}" "Lua 5.1" liblua5.1-0-dev REDLOCK_WITH_TESTING)
redlock_say(testing "${REDLOCK_WITH_TESTING}" ", redlock::testing" "${redlock_lua}")
redlock_say(c "${REDLOCK_WITH_C}" ", redlock::c" "-DREDLOCK_WITH_C=ON builds it")
foreach(part IN ITEMS TOOLS TESTS BENCH EXAMPLES)
    string(TOLOWER ${part} name)
    string(REPLACE tools command name ${name})
    redlock_say(${name} "${REDLOCK_BUILD_${part}}" "" "-DREDLOCK_BUILD_${part}=ON builds it")
endforeach()
redlock_say(install "${REDLOCK_INSTALL}" ", to ${CMAKE_INSTALL_PREFIX}" "-DREDLOCK_INSTALL=ON")
