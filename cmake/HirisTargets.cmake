# The INTERFACE targets hiris::cpu, hiris::cuda, hiris::amd and hiris::hiris (the chosen one), and
# hiris_add_executable(), which compiles C++ sources in the language of the platform.

find_package(Threads REQUIRED)
file(GLOB_RECURSE HIRIS_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/hiris/*.hpp)
foreach(platform IN ITEMS cpu cuda amd)
  string(TOUPPER ${platform} upper)
  add_library(hiris_${platform} INTERFACE)
  add_library(hiris::${platform} ALIAS hiris_${platform})
  set_target_properties(hiris_${platform} PROPERTIES EXPORT_NAME ${platform})
  target_sources(hiris_${platform} INTERFACE FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${HIRIS_HEADERS})
  target_compile_definitions(hiris_${platform} INTERFACE HIRIS_PLATFORM_${upper}=1
    $<$<BOOL:$<TARGET_PROPERTY:HIRIS_DEBUG>>:HIRIS_DEBUG=1>)
  target_link_libraries(hiris_${platform} INTERFACE Threads::Threads)
endforeach()
hiris_require_cxx20(hiris_${HIRIS_PLATFORM} ${HIRIS_PLATFORM})
if(HIRIS_PLATFORM STREQUAL cpu)
  find_package(Boost 1.74 REQUIRED COMPONENTS context)
endif()
target_link_libraries(hiris_cpu INTERFACE Boost::context)
add_library(hiris::hiris ALIAS hiris_${HIRIS_PLATFORM})

# Warnings of our own targets; never part of what a user links.
add_library(hiris_warnings INTERFACE)
set(_gnu -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion)
# nvcc hands host code to g++ with line markers that -Wpedantic objects to.
target_compile_options(hiris_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX,HIP>:${_gnu}>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>)
if(HIRIS_WERROR)
  target_compile_options(hiris_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX,HIP>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings>)
endif()

# hiris_add_executable(name source...): sources that include hiris, with our warnings.
function(hiris_add_executable name)
  add_executable(${name} ${ARGN})
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE ${HIRIS_LANGUAGE})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE ${HIRIS_LANGUAGE} CXX_EXTENSIONS OFF)
  target_link_libraries(${name} PRIVATE hiris::hiris hiris_warnings)
endfunction()

# hiris_add_objects(name sources...): device code that several executables link.
function(hiris_add_objects name)
  add_library(${name} OBJECT ${ARGN})
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE ${HIRIS_LANGUAGE})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${name} PUBLIC hiris::hiris PRIVATE hiris_warnings)
endfunction()

# A device of the platform on this machine? The emulator is always there.
set(HIRIS_HAS_DEVICE ON)
if((HIRIS_PLATFORM STREQUAL amd AND NOT EXISTS /dev/kfd) OR
   (HIRIS_PLATFORM STREQUAL cuda AND NOT EXISTS /dev/nvidiactl))
  set(HIRIS_HAS_DEVICE OFF)
endif()

set(HIRIS_TEST_PATIENCE 1 CACHE STRING "Multiplies the time limits of tests, for a sanitizer")

# hiris_add_test(name timeout_s command...): a ctest that needs a device. Without one it shows up as
# "Not Run (Disabled)". Tests that share GPUs run one after the other.
function(hiris_add_test name timeout_s)
  add_test(NAME ${name} COMMAND ${ARGN})
  math(EXPR timeout_s "${timeout_s} * ${HIRIS_TEST_PATIENCE}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout_s})
  if(NOT HIRIS_HAS_DEVICE)
    set_tests_properties(${name} PROPERTIES DISABLED ON)
  endif()
  if(NOT HIRIS_PLATFORM STREQUAL cpu)
    # Ranks share devices there: see platform::reserve_hardware_queues.
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK device
      ENVIRONMENT "CUDA_DEVICE_MAX_CONNECTIONS=32;GPU_MAX_HW_QUEUES=32")
  endif()
endfunction()
