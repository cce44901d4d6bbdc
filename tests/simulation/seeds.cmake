# Runs seeds that belong to these very sources, so that the same sources run the same seeds.
# SPDX-License-Identifier: MIT
#
# -D simulate=PROGRAM -D project=FOLDER [-D seeds=N] [-D with=FAMILY -D share=N]. Other sources are other worlds: a gate that drew its
# seeds at random would sometimes judge a change by what it had not touched. Without N the size of the
# test run says how many. FAMILY names worlds for --with, of which one in N as many are run.
if(NOT seeds)
    set(seeds 800)
    if("$ENV{REDLOCK_TEST_SIZE}" STREQUAL "quick")
        set(seeds 60)
    elseif("$ENV{REDLOCK_TEST_SIZE}" STREQUAL "usual")
        set(seeds 300)
    endif()
endif()
set(family "")
if(with)
    set(family --with "${with}")
    math(EXPR seeds "${seeds} / ${share}")
endif()
file(GLOB_RECURSE sources LIST_DIRECTORIES false "${project}/include/*" "${project}/src/*"
     "${project}/lua/*" "${project}/tests/simulation/*.?pp")
list(SORT sources)
set(all "")
foreach(source IN LISTS sources)
    file(SHA256 "${source}" one)
    string(APPEND all "${one}")
endforeach()
string(SHA256 all "${all}")
string(SUBSTRING "${all}" 0 10 start)
math(EXPR first "0x${start}")
math(EXPR last "${first} + ${seeds} - 1")
execute_process(COMMAND "${simulate}" --seeds "${first}-${last}" ${family}
                RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "simulate --seeds ${first}-${last}: ${status}")
endif()
