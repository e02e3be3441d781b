# One folder = one namespace = one static library; its *_test.cc files become one test program beside it.
#
#   longshore_folder(DEPS common serving_node_tensor TEST_DEPS tests_support)
#
# The target is the folder's path with "/" and "-" as "_": serving-node/engine -> serving_node_engine.
# TEST_INSIDE: a command that gives the tests what they need and runs them, such as a real API server.
# A library links what DEPS names and nothing else, so a forbidden direction does not link.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(LONGSHORE_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")

find_program(LONGSHORE_CCACHE ccache)
if(LONGSHORE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${LONGSHORE_CCACHE}")
endif()

# Linking is memory-heavy and this is built on small machines.
set_property(GLOBAL PROPERTY JOB_POOLS link=2)
set(CMAKE_JOB_POOL_LINK link)

if(LONGSHORE_SANITIZE)
  add_compile_options(-fsanitize=${LONGSHORE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${LONGSHORE_SANITIZE})
  # gcc 12 with the sanitizers takes std::regex and std::optional of its own library for uninitialised.
  add_compile_options(-Wno-maybe-uninitialized)
endif()

# What ./dev builds by name: all programs, all unit tests.
add_custom_target(programs)
add_custom_target(unit_tests)

add_library(longshore_warnings INTERFACE)
target_compile_options(longshore_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror)

function(longshore_folder)
  cmake_parse_arguments(FOLDER "" "" "DEPS;TEST_DEPS;TEST_INSIDE" ${ARGN})
  file(RELATIVE_PATH path "${CMAKE_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REGEX REPLACE "[/-]" "_" target "${path}")

  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|/main)\\.cc$")

  if(sources)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PUBLIC ${FOLDER_DEPS} PRIVATE longshore_warnings)
    target_include_directories(${target} PUBLIC "${CMAKE_SOURCE_DIR}")
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${FOLDER_DEPS})
    target_include_directories(${target} INTERFACE "${CMAKE_SOURCE_DIR}")
  endif()
  if(tests)
    add_executable(${target}_test ${tests})
    target_link_libraries(${target}_test PRIVATE ${target} ${FOLDER_TEST_DEPS} GTest::gmock GTest::gtest_main longshore_warnings)
    target_compile_definitions(${target}_test PRIVATE LONGSHORE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    add_test(NAME ${target}_test COMMAND ${FOLDER_TEST_INSIDE} $<TARGET_FILE:${target}_test>)
    set_tests_properties(${target}_test PROPERTIES LABELS unit TIMEOUT 600)
    add_dependencies(unit_tests ${target}_test)
  endif()
endfunction()

# Links jemalloc into a program that lives long with many threads: what an unloaded version, or a list of ten thousand objects,
# leaves goes back to the system, whatever threads had it. common/allocator.h says how it is set. The sanitizers bring their own.
find_library(LONGSHORE_JEMALLOC jemalloc REQUIRED)
function(longshore_allocator program)
  if(NOT LONGSHORE_SANITIZE)
    target_link_libraries(${program} PRIVATE ${LONGSHORE_JEMALLOC})
  endif()
endfunction()

# A program: the folder's main.cc, named as users call it, in build/PRESET/bin.
#
#   longshore_program(longshore-node DEPS serving_node_app)
function(longshore_program name)
  cmake_parse_arguments(PROGRAM "" "" "DEPS" ${ARGN})
  add_executable(${name} main.cc)
  target_link_libraries(${name} PRIVATE ${PROGRAM_DEPS} longshore_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  add_dependencies(programs ${name})
endfunction()
