#!/usr/bin/env bash
# An installed Cistern serves programs outside this tree: found by CMake and by pkg-config, also after the whole prefix
# was moved. usage: install_test.sh CMAKE SOURCE_DIR BUILD_DIR WORK_DIR
set -euo pipefail
cmake=$1 source=$2 build=$3 work=$4

rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --component library --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix"
library=$(dirname "$(find "$work/prefix" -name libcistern.so)")

echo "== find_package"
"$cmake" -S "$source/examples" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/configure.log"
grep -q "$work/prefix" "$work/build/CMakeCache.txt" # that one, and no other that may be installed
"$cmake" --build "$work/build" >"$work/build.log"
"$work/build/quickstart_c" | grep -x 'read back: water'
"$work/build/quickstart_cpp" | grep -x 'read back: water'

echo "== pkg-config"
export PKG_CONFIG_PATH=$library/pkgconfig
version=$(pkg-config --modversion cistern)
header_version=$(awk '/define CISTERN_VERSION_(MAJOR|MINOR|PATCH)/ {printf "%s%s", dot, $3; dot = "."}' \
  "$work/prefix/include/cistern/cistern.h")
[[ $version == "$header_version" ]]
for compiler in cc clang; do
  command -v "$compiler" >/dev/null || continue
  # shellcheck disable=SC2046  # flags are words
  "$compiler" -std=c11 -Wall -Wextra -Wpedantic -Werror "$source/examples/quickstart.c" -o "$work/$compiler" \
    $(pkg-config --cflags --libs cistern)
  LD_LIBRARY_PATH=$library "$work/$compiler" | grep -x 'read back: water'
done
for compiler in c++ clang++; do
  command -v "$compiler" >/dev/null || continue
  # shellcheck disable=SC2046
  "$compiler" -std=c++17 -Wall -Wextra -Wpedantic -Werror "$source/examples/quickstart.cpp" -o "$work/$compiler" \
    $(pkg-config --cflags --libs cistern)
  LD_LIBRARY_PATH=$library "$work/$compiler" | grep -x 'read back: water'
done
