# Installs the build into a folder, then configures, builds and runs a program that knows only find_package(toric).
# Needs: BUILD (the build folder), SOURCE (this folder), WORK (scratch), CONFIG, FLAGS.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGV} ended with ${result}:\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/consumer)
file(WRITE ${WORK}/consumer/CMakeLists.txt "
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES C)
find_package(toric 0.1 REQUIRED)
add_executable(program ${SOURCE}/first_program.c)
set_target_properties(program PROPERTIES C_STANDARD 11)
target_link_libraries(program PRIVATE toric::toric)
")
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/installed --component library)
run(${CMAKE_COMMAND} -S ${WORK}/consumer -B ${WORK}/consumer/build -DCMAKE_PREFIX_PATH=${WORK}/installed -DCMAKE_BUILD_TYPE=${CONFIG}
    "-DCMAKE_C_FLAGS=${FLAGS}")
run(${CMAKE_COMMAND} --build ${WORK}/consumer/build)
run(${WORK}/consumer/build/program)
file(GLOB_RECURSE headers RELATIVE ${WORK}/installed/include ${WORK}/installed/include/*)
if(NOT headers STREQUAL "toric/toric.h")
  message(FATAL_ERROR "installed headers are ${headers}, not toric/toric.h alone")
endif()
