// SPDX-License-Identifier: MIT
// All kernels of Flash Decode, whose assembly flash_decode.py holds to the rules of the hardware.
#include "hiris/comm/partials_policies.hpp"
#include "hiris/ops/flash_decode_combine.hpp"
#include "hiris/ops/flash_decode_kernel.hpp"
#include "hiris/platform/launch.hpp"

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

#define HEAD_DIM(n)                                                              \
  KERNEL(attend_fp16_##n, flash_decode_kernel<float16, n, comm::partials_kept>)  \
  KERNEL(attend_bf16_##n, flash_decode_kernel<bfloat16, n, comm::partials_kept>) \
  KERNEL(fused_fp16_##n, flash_decode_kernel<float16, n, comm::partials_fused>)  \
  KERNEL(fused_bf16_##n, flash_decode_kernel<bfloat16, n, comm::partials_fused>)

HEAD_DIM(64)
HEAD_DIM(128)
HEAD_DIM(192)
HEAD_DIM(256)

#define POLICY(name)                                                                       \
  KERNEL(gather_##name, flash_decode_gather_kernel<comm::partials_##name>)                 \
  KERNEL(combine_fp16_##name, flash_decode_combine_kernel<float16, comm::partials_##name>) \
  KERNEL(combine_bf16_##name, flash_decode_combine_kernel<bfloat16, comm::partials_##name>)

POLICY(bulk)
POLICY(gathered)
POLICY(awaited)
