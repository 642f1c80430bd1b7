# A layer is a static library whose headers are seen only by those who link it: each layer's folder appears under an
# include root of its own as toric/<layer>/..., so an include that the design's table forbids does not build.
include_guard(GLOBAL)

add_library(toric_options INTERFACE)
target_compile_features(toric_options INTERFACE cxx_std_20)
target_compile_options(toric_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual -Werror
  -Wno-restrict  # GCC 12 sees overlaps in std::string that are not there (its bug 105329)
  -fvisibility=hidden -fno-omit-frame-pointer -g1)  # lines, for backtraces and profilers; variables would cost a fifth of the build
if(TORIC_SANITIZE)
  target_compile_options(toric_options INTERFACE -O1)  # they are slow to build and to run as it is
  target_compile_options(toric_options INTERFACE -fsanitize=${TORIC_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(toric_options INTERFACE -fsanitize=${TORIC_SANITIZE})
endif()

# toric_layer(<name> SOURCES a.cpp ... LINKS <layers or libraries> [PRIVATE_LINKS <libraries its headers do not show>])
function(toric_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  set(root ${PROJECT_BINARY_DIR}/layers/${name})
  file(MAKE_DIRECTORY ${root}/toric)
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/toric/${name} SYMBOLIC)
  add_library(toric_${name} STATIC ${LAYER_SOURCES})
  set_target_properties(toric_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(toric_${name} PUBLIC ${root})
  target_link_libraries(toric_${name} PUBLIC ${LAYER_LINKS} PRIVATE ${LAYER_PRIVATE_LINKS} toric_options)
endfunction()

# toric_test(<name> SOURCES ... LINKS ... [LABELS ...] [TIMEOUT seconds]): one GoogleTest program, known to ctest by case.
function(toric_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;LINKS;LABELS" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_LINKS} toric_options GTest::gtest GTest::gmock GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)  # for tests/support
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)  # what they test is optimised
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS}")
endfunction()
