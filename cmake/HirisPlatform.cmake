# What a platform is to CMake: its language, its default architectures, the C++20 switch of its
# compiler. Part of the installed package too, so that both ways of using hiris agree.

set(_hiris_language_cpu CXX)
set(_hiris_language_cuda CUDA)
set(_hiris_language_amd HIP)
if(NOT DEFINED _hiris_language_${HIRIS_PLATFORM})
  message(FATAL_ERROR "HIRIS_PLATFORM is '${HIRIS_PLATFORM}': allowed are cpu, cuda, amd")
endif()

# HIRIS_LANGUAGE is the language in which sources that include hiris are compiled:
#   set_source_files_properties(kernel.cpp PROPERTIES LANGUAGE ${HIRIS_LANGUAGE})
set(HIRIS_LANGUAGE ${_hiris_language_${HIRIS_PLATFORM}})

if(HIRIS_PLATFORM STREQUAL cuda AND NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90a)
elseif(HIRIS_PLATFORM STREQUAL amd AND NOT CMAKE_HIP_ARCHITECTURES)
  set(CMAKE_HIP_ARCHITECTURES gfx90a gfx942 gfx950)
endif()
enable_language(${HIRIS_LANGUAGE})

# A target that links hiris is a debug build (docs/debug.md) where its property HIRIS_DEBUG is on; a
# target has it from the variable of that name.
define_property(TARGET PROPERTY HIRIS_DEBUG INITIALIZE_FROM_VARIABLE HIRIS_DEBUG
  BRIEF_DOCS "Check what the device primitives of hiris are asked to do")

# Asks for C++20. CMake before 3.26 does not know that nvcc has it, so nvcc is told directly.
function(hiris_require_cxx20 target platform)
  target_compile_features(${target} INTERFACE cxx_std_20)
  if(platform STREQUAL cuda)
    if("cuda_std_20" IN_LIST CMAKE_CUDA_COMPILE_FEATURES)
      target_compile_features(${target} INTERFACE cuda_std_20)
    else()
      target_compile_options(${target} INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
    endif()
  elseif(platform STREQUAL amd)
    target_compile_features(${target} INTERFACE hip_std_20)
  endif()
endfunction()
