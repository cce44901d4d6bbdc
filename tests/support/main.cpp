// The main function of the tests with Catch2 2, empty with 3, which has one; knows no test.
// SPDX-License-Identifier: MIT
#if !__has_include(<catch2/catch_test_macros.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
