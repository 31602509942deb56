// SPDX-License-Identifier: MIT
// The kernels of Flash Decode, whose assembly flash_decode.py holds to the rules of the hardware.
#include "hiris/ops/flash_decode.hpp"

using namespace hiris;

#define KERNEL(name, ...)                                                                  \
  using name##_type = __VA_ARGS__;                                                         \
  extern "C" __global__ __launch_bounds__(                                                 \
      name##_type::block_threads,                                                          \
      platform::gpu::launch_bound(name##_type::block_threads,                              \
                                  platform::gpu::min_blocks_per_unit<name##_type>())) void \
  name(const typename name##_type::params p) {                                             \
    name##_type::run(p, platform::gpu::block_shared<typename name##_type::shared>());      \
  }

KERNEL(attend_fp16_64, flash_decode_kernel<float16, 64, comm::partials_kept>)
KERNEL(attend_bf16_256, flash_decode_kernel<bfloat16, 256, comm::partials_kept>)
KERNEL(fused_bf16_128, flash_decode_kernel<bfloat16, 128, comm::partials_fused>)
KERNEL(fused_fp16_192, flash_decode_kernel<float16, 192, comm::partials_fused>)
KERNEL(fused_fp16_256, flash_decode_kernel<float16, 256, comm::partials_fused>)
KERNEL(gather_bulk, flash_decode_gather_kernel<comm::partials_bulk>)
KERNEL(gather_signalled, flash_decode_gather_kernel<comm::partials_gathered>)
KERNEL(combine_bulk, flash_decode_combine_kernel<float16, comm::partials_bulk>)
KERNEL(combine_awaited, flash_decode_combine_kernel<bfloat16, comm::partials_awaited>)
