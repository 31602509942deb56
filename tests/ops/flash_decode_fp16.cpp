// SPDX-License-Identifier: MIT
// The kernels of Flash Decode for float16, once for all tests.
#include "hiris/ops/flash_decode.hpp"

template class hiris::flash_decode<hiris::float16>;
