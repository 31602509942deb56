# hiris::collectives, for those who include hiris/collectives.hpp: NCCL on cuda, RCCL on amd. It is
# not there where the library is not found. HIRIS_COLLECTIVES_ROOT names a folder to look in first.
# A Python package of the library, as PyTorch brings it, will do.
if(TARGET hiris::collectives OR NOT HIRIS_PLATFORM MATCHES "^(cuda|amd)$")
  return()
endif()

set(_hiris_roots ${HIRIS_COLLECTIVES_ROOT} $ENV{HIRIS_COLLECTIVES_ROOT} $ENV{NCCL_ROOT} $ENV{NCCL_HOME})
if(HIRIS_PLATFORM STREQUAL cuda)
  set(_hiris_header nccl.h)
  set(_hiris_libraries nccl libnccl.so.2)
  list(APPEND _hiris_roots ${CUDAToolkit_ROOT} $ENV{CUDA_HOME} /usr/local/cuda)
  find_program(HIRIS_PYTHON NAMES python3)
  mark_as_advanced(HIRIS_PYTHON)
  if(HIRIS_PYTHON)
    execute_process(COMMAND ${HIRIS_PYTHON} -c
      "import nvidia.nccl as n; print(';'.join(n.__path__), end='')"
      OUTPUT_VARIABLE _hiris_package ERROR_QUIET)
    list(APPEND _hiris_roots ${_hiris_package})
  endif()
else()
  set(_hiris_header rccl/rccl.h)
  set(_hiris_libraries rccl)
  list(APPEND _hiris_roots ${ROCM_PATH} $ENV{ROCM_PATH} /opt/rocm)
endif()
find_path(HIRIS_COLLECTIVES_INCLUDE_DIR ${_hiris_header} HINTS ${_hiris_roots} PATH_SUFFIXES include)
find_library(HIRIS_COLLECTIVES_LIBRARY NAMES ${_hiris_libraries} HINTS ${_hiris_roots}
  PATH_SUFFIXES lib lib64)
mark_as_advanced(HIRIS_COLLECTIVES_INCLUDE_DIR HIRIS_COLLECTIVES_LIBRARY)
if(NOT HIRIS_COLLECTIVES_INCLUDE_DIR OR NOT HIRIS_COLLECTIVES_LIBRARY)
  message(STATUS "No ${_hiris_header} with its library: no hiris::collectives")
  return()
endif()
message(STATUS "hiris::collectives is ${HIRIS_COLLECTIVES_LIBRARY}")
add_library(hiris::collectives SHARED IMPORTED)
get_filename_component(_hiris_folder ${HIRIS_COLLECTIVES_LIBRARY} DIRECTORY)
set_target_properties(hiris::collectives PROPERTIES
  IMPORTED_LOCATION ${HIRIS_COLLECTIVES_LIBRARY}
  INTERFACE_LINK_OPTIONS "LINKER:-rpath,${_hiris_folder}"  # seldom where the loader looks
  INTERFACE_INCLUDE_DIRECTORIES ${HIRIS_COLLECTIVES_INCLUDE_DIR})
