# What test scripts share: the environment of their runs, and a folder of their own, which is removed unless the test
# fails.  `kind` goes into the folder's name.
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

folder=$(mktemp -d "${TMPDIR:-/tmp}/pesweep-$kind-XXXXXX")
cd "$folder" || exit 1
failed=0
finish() {
    if [ $failed = 0 ]; then rm -rf "$folder"; else echo "left behind: $folder"; fi
    exit $failed
}
trap finish EXIT

fail() {
    echo "FAILED: $*"
    failed=1
}
