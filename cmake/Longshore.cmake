# One folder = one namespace = one static library; its *_test.cc files become one test program next to it.
#
#   longshore_folder(DEPS common serving_node_tensor TEST_DEPS tests_support)
#
# The target is the folder's path with "/" and "-" as "_": serving-node/engine -> serving_node_engine.
#
# DEPS: what the library links, and nothing else, so a forbidden dependency does not link.
#
# TEST_DEPS: what its tests link besides.
#
# TEST_INSIDE: a command that runs the tests in the environment they need, such as a real API server.
#
# SEPARATE: files (regular expressions) that cannot be compiled in one group with others (LONGSHORE_GROUP_SOURCES),
# because they have options of their own or the same names in their unnamed namespaces; ALL for every file of the folder.

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

# Linking needs much memory: at most two linkers run at a time, so that the project can be built on small machines.
set_property(GLOBAL PROPERTY JOB_POOLS link=2)
set(CMAKE_JOB_POOL_LINK link)

# The presets of the sanitizers compile with clang: with gcc's sanitizers the same sources take four times as long.
if(LONGSHORE_SANITIZE)
  # The path is relative to the folder in which compilers run: with an absolute one, a compiler cache serves only one clone.
  file(RELATIVE_PATH ignorelist "${CMAKE_BINARY_DIR}" "${CMAKE_SOURCE_DIR}/tests/sanitizer_ignore.txt")
  add_compile_options(-fsanitize=${LONGSHORE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
                      "-fsanitize-ignorelist=${ignorelist}")
  add_link_options(-fsanitize=${LONGSHORE_SANITIZE})
  # For the few tests and loops that cannot run under a sanitizer.
  add_compile_definitions(LONGSHORE_SANITIZER)
  if(LONGSHORE_SANITIZE MATCHES "address")
    add_compile_definitions(LONGSHORE_SANITIZER_ADDRESS)
  elseif(LONGSHORE_SANITIZE STREQUAL "thread")
    add_compile_definitions(LONGSHORE_SANITIZER_THREAD)
  endif()
endif()
option(LONGSHORE_FUZZ "Instrument for libFuzzer, and link the fuzzers with it" OFF)
if(LONGSHORE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
# These folders do numerical work: without optimisation their tests take minutes under the sanitizers instead of seconds.
set(LONGSHORE_OPTIMISED_UNDER_SANITIZERS "^serving-node/(engine|graph|tensor)")

# Targets that ./dev builds: all programs, all unit tests.
add_custom_target(programs)
add_custom_target(unit_tests)
# ./dev test runs each unit test only once, so that a whole run takes about an hour. The tests of code that parses untrusted bytes,
# computes or has many threads run under the sanitizers, the others in the release build. ./dev test --full runs all of them under
# the sanitizers.
add_custom_target(sanitized_tests)
add_custom_target(release_tests)
set(LONGSHORE_RELEASE_TESTS "^(controller|tests)")
# These run in the release build too: TensorFlow's answers are also compared with those of the optimised kernels, and some tests cannot
# run under a sanitizer.
set(LONGSHORE_KERNEL_TESTS "^(common/base|serving-node/(saved_model|engine/(kernels/base|interpreter|host|cpu|cpu/steps)))$")

# The folders that start threads or share data between threads. Their tests have the label `threaded`: ./dev test --full runs them
# under the thread sanitizer. ./dev check finds a folder that is missing here.
set(LONGSHORE_THREADED
  common/base common/metrics common/os common/os/process common/storage common/version_files
  common/net/auth common/net/grpc_server common/net/http common/net/http2 common/net/http_client
  serving-node/app serving-node/batching serving-node/control serving-node/evidence serving-node/frontend serving-node/frontend/oip
  serving-node/golden_set serving-node/identity serving-node/models serving-node/rehearsal serving-node/routing serving-node/sources
  serving-node/engine serving-node/engine/cpu serving-node/engine/cpu/steps serving-node/engine/host serving-node/engine/kernels/base
  serving-node/observe/profiling serving-node/observe/replay serving-node/observe/requestlog serving-node/tracing serving-node/tracing/otlp
  controller/api controller/app controller/cli controller/cli/doctor/observe controller/cli/logs controller/console controller/kube controller/leader controller/nodes
  controller/reconcile controller/runtime controller/signals controller/version_watch
  controller/fleet/pods controller/fleet/processes controller/store/kube controller/store/local
  tests/load)
add_custom_target(threaded_tests)
# The folders whose tests also have the label `threaded_short`: ./dev test runs them under the thread sanitizer.
set(LONGSHORE_THREADED_SHORT common/base common/os serving-node/batching serving-node/models serving-node/routing)
add_custom_target(threaded_short_tests)

add_library(longshore_warnings INTERFACE)
target_compile_options(longshore_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror)

# Sets `result` to sources that include the given ones in groups of at most LONGSHORE_GROUP_SOURCES. Includes are relative, so that a
# compiler cache serves every clone.
set(LONGSHORE_GROUP_SOURCES 1 CACHE STRING
    "How many sources of a folder are compiled as one file: more than half of the time a compiler reads headers, which these share")
function(longshore_group result target sources separate)
  if(LONGSHORE_GROUP_SOURCES GREATER 1 AND NOT separate STREQUAL "ALL")
    set(waiting ${sources})
    foreach(file IN LISTS separate)
      list(FILTER waiting EXCLUDE REGEX "/${file}$")
    endforeach()
    list(REMOVE_ITEM sources ${waiting})
    list(LENGTH waiting count)
    math(EXPR groups "(${count} + ${LONGSHORE_GROUP_SOURCES} - 1) / ${LONGSHORE_GROUP_SOURCES}")
    set(number 0)
    while(number LESS groups)
      math(EXPR size "(${count} - ${number} + ${groups} - 1) / ${groups}")  # Groups of about the same size.
      list(SUBLIST waiting 0 ${size} members)
      list(REMOVE_ITEM waiting ${members})
      set(text)
      foreach(member IN LISTS members)
        file(RELATIVE_PATH member "${CMAKE_SOURCE_DIR}" "${member}")
        string(APPEND text "#include \"${member}\"\n")
      endforeach()
      set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}_group_${number}.cc")
      file(CONFIGURE OUTPUT "${file}" CONTENT "${text}")
      list(APPEND sources "${file}")
      math(EXPR number "${number} + 1")
    endwhile()
  endif()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

function(longshore_folder)
  cmake_parse_arguments(FOLDER "" "" "DEPS;TEST_DEPS;TEST_INSIDE;SEPARATE" ${ARGN})
  file(RELATIVE_PATH path "${CMAKE_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REGEX REPLACE "[/-]" "_" target "${path}")

  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|/main)\\.cc$")

  if(sources)
    longshore_group(sources ${target} "${sources}" "${FOLDER_SEPARATE}")
    add_library(${target} STATIC ${sources})
    # In a header, a type that uses an unnamed namespace is a mistake; here gcc takes the sources of a group for headers.
    if(LONGSHORE_GROUP_SOURCES GREATER 1 AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
    target_link_libraries(${target} PUBLIC ${FOLDER_DEPS} PRIVATE longshore_warnings)
    target_include_directories(${target} PUBLIC "${CMAKE_SOURCE_DIR}")
    if(LONGSHORE_SANITIZE AND path MATCHES "${LONGSHORE_OPTIMISED_UNDER_SANITIZERS}")
      target_compile_options(${target} PRIVATE -O1)
    endif()
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${FOLDER_DEPS})
    target_include_directories(${target} INTERFACE "${CMAKE_SOURCE_DIR}")
  endif()
  if(tests)
    longshore_group(tests ${target}_test "${tests}" "${FOLDER_SEPARATE}")
    add_executable(${target}_test ${tests})
    target_link_libraries(${target}_test PRIVATE ${target} ${FOLDER_TEST_DEPS} tests_source_tree tests_seeds GTest::gmock
                          tests_gtest_main_program longshore_warnings)
    add_test(NAME ${target}_test COMMAND ${FOLDER_TEST_INSIDE} $<TARGET_FILE:${target}_test>)
    add_dependencies(unit_tests ${target}_test)
    set(labels unit)
    if(path MATCHES "${LONGSHORE_RELEASE_TESTS}" OR path MATCHES "${LONGSHORE_KERNEL_TESTS}")
      list(APPEND labels release)
      add_dependencies(release_tests ${target}_test)
    endif()
    if(NOT path MATCHES "${LONGSHORE_RELEASE_TESTS}")
      list(APPEND labels sanitized)
      add_dependencies(sanitized_tests ${target}_test)
    endif()
    if(path IN_LIST LONGSHORE_THREADED)
      list(APPEND labels threaded)
      add_dependencies(threaded_tests ${target}_test)
    endif()
    if(path IN_LIST LONGSHORE_THREADED_SHORT)
      list(APPEND labels threaded_short)
      add_dependencies(threaded_short_tests ${target}_test)
    endif()
    set_tests_properties(${target}_test PROPERTIES LABELS "${labels}" TIMEOUT 600)
    if(LONGSHORE_SANITIZE MATCHES "address")
      # An allocation that is too large fails as it does without the sanitizer, which would end the program.
      set_tests_properties(${target}_test PROPERTIES ENVIRONMENT "ASAN_OPTIONS=allocator_may_return_null=1")
    endif()
  endif()
endfunction()

# Links jemalloc into a long-running program with many threads: memory of an unloaded version, or of a list of ten thousand objects,
# is returned to the system, whichever threads allocated it. common/os/allocator.h has its settings. The sanitizers have their own allocator.
find_library(LONGSHORE_JEMALLOC jemalloc REQUIRED)
function(longshore_allocator program)
  if(NOT LONGSHORE_SANITIZE)
    target_link_libraries(${program} PRIVATE ${LONGSHORE_JEMALLOC})
  endif()
endfunction()

# Builds a program from the folder's main.cc. Its file is build/PRESET/bin/NAME.
#
#   longshore_program(longshore-node DEPS serving_node_app)
function(longshore_program name)
  cmake_parse_arguments(PROGRAM "" "" "DEPS" ${ARGN})
  add_executable(${name} main.cc)
  target_link_libraries(${name} PRIVATE ${PROGRAM_DEPS} longshore_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  add_dependencies(programs ${name})
endfunction()
