/* fuzz.h - a fuzz target: one function that takes any bytes, returns 0 and leaves nothing behind.
 *
 * Linked with libFuzzer it is fed by mutation (run.sh); linked with replay.c it reads the files of its
 * corpus, which any compiler can do.  What a target can't accept ends the program: a failed CHECK, a
 * sanitizer. */
#ifndef PESWEEP_TESTS_FUZZ_H
#define PESWEEP_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's names; the build hides all others. */
__attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A folder of the target's own in memory (/dev/shm) or TMPDIR, made at the first call and removed at exit. */
const char *fuzz_folder(void);
/* Replaces the contents of a file in that folder. */
void fuzz_write(const char *name, const void *bytes, size_t size);

#endif
