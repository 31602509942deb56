// SPDX-License-Identifier: MIT
/// @file
/// Launches on the emulator. Include launch.hpp, not this.
#pragma once

#include <string>
#include <type_traits>
#include <typeinfo>

#include "hiris/error.hpp"
#include "hiris/platform/cpu/runtime.hpp"
#include "hiris/platform/type_name.hpp"

namespace hiris::platform {

namespace cpu {

/// Calls K::run for one thread.
template <class K>
void run_kernel(const void* params, void* shared) {
  using shared_type = typename K::shared;
  const auto& p = *static_cast<const typename K::params*>(params);
  if constexpr (std::is_empty_v<shared_type>) {
    shared_type none;
    K::run(p, none);
  } else {
    K::run(p, *static_cast<shared_type*>(shared));
  }
}

/// What the executor has to know of K. One object a kernel: its address names the kernel.
template <class K>
const kernel_type& type_of() {
  static const std::string name = readable_name(typeid(K));
  static const kernel_type type{
      name.c_str(), K::block_threads,
      std::is_empty_v<typename K::shared> ? 0 : sizeof(typename K::shared), &run_kernel<K>};
  return type;
}

}  // namespace cpu

template <class K>
void launch(hipStream_t on, int blocks, const typename K::params& p) {
  require_kernel<K>();
  static_assert(std::is_empty_v<typename K::shared> ||
                    sizeof(typename K::shared) <= cpu::shared_bytes_per_unit,
                "hiris: K::shared must be at most 64 KiB, what a compute unit has");
  if (blocks < 1)
    throw error(errc::invalid_argument, -1,
                "launch: blocks is " + std::to_string(blocks) + ": allowed are 1 and more");
  cpu::operation op;
  op.kind = cpu::operation::kernel;
  op.type = &cpu::type_of<K>();
  op.blocks = blocks;
  op.params = cpu::copy_params(&p, sizeof p, alignof(typename K::params));
  const hipError_t status = cpu::enqueue(on, std::move(op));
  if (status != hipSuccess)
    throw error(errc::runtime_failed, -1,
                std::string("launch of ") + cpu::type_of<K>().name +
                    " failed: " + hipGetErrorName(status) + " (" + hipGetErrorString(status) + ")");
}

template <class K>
int blocks_per_unit() {
  require_kernel<K>();
  const auto& type = cpu::type_of<K>();
  return cpu::workgroups_per_unit(type.block_threads, type.shared_bytes);
}

template <class K>
void load_kernel() {
  require_kernel<K>();
  (void)cpu::type_of<K>();
}

}  // namespace hiris::platform
