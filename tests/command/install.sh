#!/usr/bin/env bash
# The build is installed, and used from there as others would: the program, its help, and the library by pkg-config and by
# CMake from a program outside.  Where dpkg is, the Debian package is made and installed into an empty root.
source "$(dirname "$0")/lib.sh"
: "${BUILD:?the folder of the build}"

want 0 cmake --install "$BUILD" --prefix "$PWD/first"
mv first moved # the installed tree may be moved
prefix=$PWD/moved
version=$("$PESWEEP" --version | sed 's/ (.*//; s/pesweep //')
want 0 "$prefix/bin/pesweep" plan --summary "$prefix/share/pesweep/sweeps/quick.yaml"
for file in share/man/man1/pesweep.1 share/bash-completion/completions/pesweep share/pesweep/sweep.schema.json \
    share/pesweep/jobs/sweep.sbatch include/pesweep/sweep.h; do
    [ -s "$prefix/$file" ] || fail "$file is not installed"
done

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name pesweep.pc)")
export PKG_CONFIG_PATH
[ "$(pkg-config --modversion pesweep)" = "$version" ] || fail "pkg-config says $(pkg-config --modversion pesweep), not $version"
# shellcheck disable=SC2046 # flags are words
want 0 ${CC:-cc} -std=c11 -Wall -Werror "$SOURCE/tests/command/outside.c" -o by_pkg_config $(pkg-config --cflags --libs pesweep)
want 0 ./by_pkg_config "$SOURCE/sweeps/quick.yaml"
said "quick: 8 trials, pesweep $version"
unset PKG_CONFIG_PATH

mkdir outside
cp "$SOURCE/tests/command/outside.c" outside
cat > outside/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES C)
find_package(pesweep 0.1 REQUIRED)
add_executable(outside outside.c)
target_link_libraries(outside PRIVATE pesweep::pesweep)
END
want 0 cmake -S outside -B outside/build "-DCMAKE_PREFIX_PATH=$prefix"
want 0 cmake --build outside/build
want 0 outside/build/outside "$SOURCE/sweeps/quick.yaml"
said "quick: 8 trials, pesweep $version"

if ! command -v dpkg-shlibdeps > /dev/null || ! command -v fakeroot > /dev/null && [ "$(id -u)" -ne 0 ]; then
    echo "no Debian package: dpkg-dev is not here"
    exit
fi
want 0 cpack --config "$BUILD/CPackConfig.cmake" -G DEB -B "$PWD/deb"
package=$(ls deb/*.deb)
dpkg -c "$package" > contents
for file in ./usr/bin/pesweep ./usr/share/man/man1/pesweep.1 ./usr/share/bash-completion/completions/pesweep \
    ./usr/include/pesweep/sweep.h ./usr/share/doc/pesweep/LICENSE; do
    grep -qE " $file\$" contents || fail "the package lacks $file"
done
! grep -vE ' \./(usr/.*)?$' contents || fail "the package has files outside /usr"
grep -qE '^-rwxr-xr-x root/root .* ./usr/bin/pesweep$' contents || fail "pesweep is not root's: $(grep bin/pesweep contents)"
dpkg -f "$package" Depends > depends
grep -q libhdf5 depends && grep -q libopenblas depends && grep -q libyaml depends || { fail "Depends:"; cat depends; }
mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates
touch root/var/lib/dpkg/status
if [ "$(id -u)" -eq 0 ]; then
    want 0 dpkg --root="$PWD/root" --force-depends -i "$package"
else
    want 0 dpkg -x "$package" root
fi
want 0 root/usr/bin/pesweep --version
said "pesweep $version"
