// SPDX-License-Identifier: MIT
/// @file
/// Everything of the library but the bootstraps and collectives.hpp, which are included by those
/// who use them.
///
///     #include "hiris/hiris.hpp"
///     #include "hiris/bootstrap/threads.hpp"
#pragma once

#include "hiris/atomic.hpp"
#include "hiris/barrier.hpp"
#include "hiris/context.hpp"
#include "hiris/error.hpp"
#include "hiris/heap.hpp"
#include "hiris/launch.hpp"
#include "hiris/ops/all_gather_gemm.hpp"
#include "hiris/ops/flash_decode.hpp"
#include "hiris/ops/life.hpp"
#include "hiris/ops/taxes.hpp"
#include "hiris/order.hpp"
#include "hiris/rma.hpp"
#include "hiris/signal.hpp"
#include "hiris/stream_barrier.hpp"
#include "hiris/world.hpp"
