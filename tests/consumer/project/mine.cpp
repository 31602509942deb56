// SPDX-License-Identifier: MIT
#include "everything.hpp"

int other_unit();

int main() { return other_unit() == static_cast<int>(hiris::errc::timed_out) ? 0 : 1; }
