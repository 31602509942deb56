// SPDX-License-Identifier: MIT
// The kernels of all-gather + GEMM for float16, B row-major, once for all tests.
#include "hiris/ops/all_gather_gemm.hpp"

template class hiris::all_gather_gemm<hiris::float16>;
template class hiris::all_gather_gemm<hiris::float16, hiris::matrix_layout::row_major, float>;
