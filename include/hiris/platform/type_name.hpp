// SPDX-License-Identifier: MIT
/// @file
/// Names of types for texts.
///
///     platform::readable_name(typeid(my_kernel<float>));   // "my_kernel<float>"
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <typeinfo>

namespace hiris::platform {

/// As in the source. Host only.
inline std::string readable_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  return status == 0 && name ? name.get() : type.name();
}

}  // namespace hiris::platform
