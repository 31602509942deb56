# [readme]
find_package(hiris REQUIRED)
add_executable(mine mine.cpp)
set_source_files_properties(mine.cpp PROPERTIES LANGUAGE ${HIRIS_LANGUAGE})   # HIP, CUDA or CXX
target_link_libraries(mine PRIVATE hiris::hiris)
# [/readme]
