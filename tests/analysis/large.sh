#!/usr/bin/env bash
# 100,000 trials: analyzed in 30 s of two cores and 2 GiB.  PESWEEP and SYNTHETIC name the programs.  Processor time is
# what counts, so that other work on the machine doesn't.
set -u
: "${PESWEEP:?the program under test}" "${SYNTHETIC:?the program synthetic_results}"
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d "${TMPDIR:-/tmp}/pesweep-large-XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
"$SYNTHETIC" "$here/large.yaml" large.h5 44 || exit 1
OMP_NUM_THREADS=2 python3 - "$PESWEEP" << 'END'
import os, resource, subprocess, sys, time
start = time.time()
code = subprocess.call([sys.argv[1], "analyze", "large.h5", "-o", "report"])
used, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.time() - start
cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
size = os.path.getsize("report/index.html") / 1e6
print("exit code %d, %.1f s, %.1f s of processor time, %.0f MiB at most, page of %.1f MB" % (code, wall, cpu, peak, size))
sys.exit(not (code == 0 and cpu < 60 and peak < 2048 and size < 40))
END
