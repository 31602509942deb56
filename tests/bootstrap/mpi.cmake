# The MPI channel: one executable, run by mpirun with three ranks on this host.
find_package(MPI COMPONENTS CXX QUIET)
if(NOT MPI_CXX_FOUND OR NOT MPIEXEC_EXECUTABLE)
  message(STATUS "MPI not found: bootstrap/mpi is not tested")
  return()
endif()
add_executable(test.bootstrap.mpi ${CMAKE_CURRENT_SOURCE_DIR}/bootstrap/mpi_test.cpp)
target_compile_features(test.bootstrap.mpi PRIVATE cxx_std_20)
target_include_directories(test.bootstrap.mpi PRIVATE
  ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_include_directories(test.bootstrap.mpi SYSTEM PRIVATE ${MPI_CXX_INCLUDE_DIRS})
target_link_libraries(test.bootstrap.mpi PRIVATE
  MPI::MPI_CXX GTest::gtest Threads::Threads hiris_warnings)
set(mpi_flags)
execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE mpi_version ERROR_QUIET)
if(mpi_version MATCHES "Open MPI|OpenRTE")  # three ranks on two cores, in a container
  set(mpi_flags --allow-run-as-root --oversubscribe)
endif()
add_test(NAME bootstrap/mpi COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 3 ${mpi_flags}
  $<TARGET_FILE:test.bootstrap.mpi>)
# Whole stacks for the address sanitizer: of modules that MPI unloads it does not know the names, only
# who called them (support/leaks.txt).
set_tests_properties(bootstrap/mpi PROPERTIES TIMEOUT 120 LABELS no_device
  ENVIRONMENT ASAN_OPTIONS=fast_unwind_on_malloc=0)
