# How a room of the house, and a test of it, is declared: one place for warnings, sanitizers and naming.

add_library(cistern_flags INTERFACE)
target_include_directories(cistern_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(cistern_flags INTERFACE -Wall -Wextra -Wshadow -Wpedantic
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<BOOL:${CISTERN_WARNINGS_AS_ERRORS}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlapping copies in std::string's operator+ where there are none (GCC bug 105651).
  target_compile_options(cistern_flags INTERFACE -Wno-restrict)
endif()
if(CISTERN_BUILD_FUZZERS)
  # Coverage feedback from the rooms, not only from the fuzzer's own file.
  target_compile_options(cistern_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(CISTERN_SANITIZE)
  target_compile_options(cistern_flags INTERFACE -fsanitize=${CISTERN_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(cistern_flags INTERFACE -fsanitize=${CISTERN_SANITIZE})
  if(CISTERN_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 warns about atomic_thread_fence under TSan; the fences it means are libstdc++'s own.
    target_compile_options(cistern_flags INTERFACE -Wno-tsan)
  endif()
endif()
target_link_libraries(cistern_flags INTERFACE Threads::Threads ${CMAKE_DL_LIBS})

# cistern_room(<room> [USES <lower rooms>...] SOURCES <files>...): static library cistern_<room>.
function(cistern_room room)
  cmake_parse_arguments(ARG "" "" "USES;SOURCES" ${ARGN})
  add_library(cistern_${room} STATIC ${ARG_SOURCES})
  list(TRANSFORM ARG_USES PREPEND cistern_)
  target_link_libraries(cistern_${room} PUBLIC cistern_flags ${ARG_USES})
endfunction()

# What `./dev test` builds of the tsan and fuzz trees, where the rest is of no use.
add_custom_target(tsan_tests)
add_custom_target(fuzzers)

# cistern_test(<name> [ROOMS <rooms>...] [LIBS <targets>...] [LABELS <labels>...] SOURCES <files>...): a GoogleTest
# program, one ctest entry.
function(cistern_test name)
  cmake_parse_arguments(ARG "" "" "ROOMS;LIBS;LABELS;SOURCES" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  list(TRANSFORM ARG_ROOMS PREPEND cistern_)
  target_link_libraries(${name} PRIVATE ${ARG_ROOMS} ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  # What is tested is optimised as the preset says; the tests themselves compile faster.
  if(CISTERN_SANITIZE MATCHES "address")
    target_compile_options(${name} PRIVATE -O0)  # half the time again
  else()
    target_compile_options(${name} PRIVATE -O1)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
  if("tsan" IN_LIST ARG_LABELS)
    add_dependencies(tsan_tests ${name})
  endif()
endfunction()

# cistern_fuzzer(<name> [ROOMS <rooms>...] [RUNS <number>] [MAX_LEN <bytes>] [CORPUS <folder>] SOURCES <files>...): a
# libFuzzer program where CISTERN_BUILD_FUZZERS is on, and a ctest entry (label fuzz) that gives it RUNS inputs from a
# fixed seed after those of the corpus, so that the same inputs are tried each time. Fuzz for longer by hand:
# build/fuzz/bin/<name> <a folder of your own>.
function(cistern_fuzzer name)
  cmake_parse_arguments(ARG "" "RUNS;MAX_LEN;CORPUS" "ROOMS;SOURCES" ${ARGN})
  if(NOT CISTERN_BUILD_FUZZERS)
    return()
  endif()
  if(NOT ARG_RUNS)
    set(ARG_RUNS 20000)
  endif()
  if(NOT ARG_MAX_LEN)
    set(ARG_MAX_LEN 4096)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  list(TRANSFORM ARG_ROOMS PREPEND cistern_)
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE ${ARG_ROOMS})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  # Listed one by one: of a folder libFuzzer would make its own, and write into the source tree.
  set(seeds)
  if(ARG_CORPUS)
    file(GLOB corpus CONFIGURE_DEPENDS ${ARG_CORPUS}/*)
    list(JOIN corpus "," corpus)
    set(seeds -seed_inputs=${corpus})
  endif()
  add_test(NAME ${name} COMMAND ${name} -runs=${ARG_RUNS} -max_len=${ARG_MAX_LEN} -seed=1 ${seeds})
  set_tests_properties(${name} PROPERTIES LABELS fuzz)
  add_dependencies(fuzzers ${name})
endfunction()
