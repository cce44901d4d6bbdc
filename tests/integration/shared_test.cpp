#include "../support/catch.hpp"
