// SPDX-License-Identifier: MIT
#include "everything.hpp"

int other_unit();

int other_unit() { return static_cast<int>(hiris::errc::timed_out); }
