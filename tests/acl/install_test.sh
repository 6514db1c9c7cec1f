#!/usr/bin/env bash
# The installed AscendCL library serves programs outside this tree: a project in the layout of those for Ascend, CMake's
# find_package and pkg-config; also after the whole prefix was moved. usage: install_test.sh CMAKE SOURCE BUILD WORK
set -euo pipefail
cmake=$1 source=$2 build=$3 work=$4
program=$source/tests/acl/programs/memory_loops.cpp

rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --component library --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix"
library=$(dirname "$(find "$work/prefix" -name libcistern.so)")

echo "== DDK_PATH and NPU_HOST_LIB"
export DDK_PATH=$library/ascendcl NPU_HOST_LIB=$library/ascendcl/runtime/lib64/stub
"$cmake" -S "$source/tests/acl/vendor_layout" -B "$work/vendor" -DPROGRAM="$program" >"$work/vendor.log"
"$cmake" --build "$work/vendor" >>"$work/vendor.log"
LD_LIBRARY_PATH=$NPU_HOST_LIB "$work/vendor/main" 65536 3 0 | grep '^after: 34359738368'

echo "== find_package"
mkdir "$work/package"
cat >"$work/package/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.16)
project(package CXX)
find_package(cistern 0.1 REQUIRED)
add_executable(main $program)
target_link_libraries(main PRIVATE cistern::ascendcl)
TEXT
"$cmake" -S "$work/package" -B "$work/package/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/package.log"
"$cmake" --build "$work/package/build" >>"$work/package.log"
"$work/package/build/main" 65536 3 1 async | grep '^after: 34359738368'

echo "== pkg-config"
export PKG_CONFIG_PATH=$library/pkgconfig
for compiler in c++ clang++; do
  command -v "$compiler" >/dev/null || continue
  # shellcheck disable=SC2046  # flags are words
  "$compiler" -std=c++11 -Wall -Wextra -Wpedantic -Werror "$program" -o "$work/$compiler" \
    $(pkg-config --cflags --libs cistern-ascendcl)
  LD_LIBRARY_PATH=$library/ascendcl/runtime/lib64 "$work/$compiler" 65536 3 1 | grep '^after: 34359738368'
done
