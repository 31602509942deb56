# Compiles SOURCE and passes when that fails with the text after "// EXPECT: " in it, and when the
# same file without the lines between "// BEGIN FAIL" and "// END FAIL" compiles.
file(READ ${SOURCE} text)
if(NOT text MATCHES "// EXPECT: ([^\n]+)\n")
  message(FATAL_ERROR "${SOURCE} has no line '// EXPECT: <text>'")
endif()
set(expected "${CMAKE_MATCH_1}")
if(NOT text MATCHES "// BEGIN FAIL\n" OR NOT text MATCHES "// END FAIL\n")
  message(FATAL_ERROR "${SOURCE} has no '// BEGIN FAIL' ... '// END FAIL'")
endif()
set(command ${COMPILER} -std=c++20 -fsyntax-only -DHIRIS_PLATFORM_CPU=1 -I${INCLUDES} -x c++)

execute_process(COMMAND ${command} ${SOURCE} RESULT_VARIABLE status ERROR_VARIABLE said
  OUTPUT_VARIABLE said)
if(status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles, but must not")
endif()
string(FIND "${said}" "${expected}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "${SOURCE} fails to compile, but without '${expected}':\n${said}")
endif()

execute_process(COMMAND sed "/BEGIN FAIL/,/END FAIL/d" ${SOURCE} COMMAND ${command} -
  RESULT_VARIABLE status ERROR_VARIABLE said OUTPUT_VARIABLE said)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} does not compile even without the wrong lines:\n${said}")
endif()
