#!/usr/bin/env bash
# setup.sh - installs what pesweep needs on Debian or Ubuntu; does nothing where everything is there already.
#
#   jobs/setup.sh              to build and run
#   jobs/setup.sh tests        and what the tests need
#   jobs/setup.sh slurm        and SLURM, for the test of the job scripts
#   jobs/setup.sh mpich        and MPICH beside Open MPI
#   jobs/setup.sh static       and the checkers of tests/check_static.sh
#   jobs/setup.sh --list       names of the packages, one a line; installs nothing
#
# On a cluster without root: load modules (a compiler, cmake, MPI, parallel HDF5, OpenBLAS) or use Spack; cmake names
# whatever it misses together with the package or module that brings it.
set -euo pipefail

build=(gcc libc6-dev cmake ninja-build pkg-config git openmpi-bin libopenmpi-dev libhdf5-openmpi-dev
    libopenblas-openmp-dev liblapacke-dev libyaml-dev libxxhash-dev libjansson-dev librandom123-dev gnuplot-nox node-d3)
tests=(libcmocka-dev valgrind clang clang-format hdf5-tools python3 python3-h5py python3-xarray python3-h5netcdf
    python3-netcdf4 python3-yaml python3-jsonschema groff bsdutils dpkg-dev chromium python3-matplotlib)
slurm=(slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge)
mpich=(mpich libmpich-dev libhdf5-mpich-dev)
static=(cppcheck clang-tidy)

wanted=("${build[@]}")
list=no
for argument in "$@"; do
    case $argument in
    tests) wanted+=("${tests[@]}") ;;
    slurm) wanted+=("${slurm[@]}") ;;
    mpich) wanted+=("${mpich[@]}") ;;
    static) wanted+=("${static[@]}") ;;
    --list) list=yes ;;
    *)
        echo "setup.sh: unknown argument '$argument'; allowed: tests, slurm, mpich, static, --list" >&2
        exit 2
        ;;
    esac
done
if [ "$list" = yes ]; then
    printf '%s\n' "${wanted[@]}"
    exit 0
fi

if ! command -v dpkg-query >/dev/null; then
    echo "setup.sh: not a Debian or Ubuntu machine; needed are: ${wanted[*]} (or what they are called here)" >&2
    exit 2
fi
missing=()
for package in "${wanted[@]}"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "setup.sh: installing ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup.sh: run as root (there is no sudo): apt-get install ${missing[*]}" >&2
        exit 2
    fi
    as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
install() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; }
# Package lists may be absent or old: fetch them once and try again.
if ! install >/tmp/pesweep-setup.$$.log 2>&1; then
    if ! { "${as_root[@]}" apt-get update && install; } >>/tmp/pesweep-setup.$$.log 2>&1; then
        tail -n 20 /tmp/pesweep-setup.$$.log >&2
        echo "setup.sh: installing failed; the whole output is in /tmp/pesweep-setup.$$.log" >&2
        exit 1
    fi
fi
rm -f /tmp/pesweep-setup.$$.log
