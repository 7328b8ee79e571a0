/* Preloaded into the program: while the file that PESWEEP_TEST_FULL names exists, nothing can be made
 * durable. The cause is the word in that file - EIO, EDQUOT, EROFS - or that there is no room left. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) int fdatasync(int file);
__attribute__((visibility("default"))) int fsync(int file);

static int cause(void)
{
    static const struct {
        const char *name;
        int number;
    } causes[] = {{"EIO", EIO}, {"EDQUOT", EDQUOT}, {"EROFS", EROFS}};
    const char *name = getenv("PESWEEP_TEST_FULL");
    FILE *file = name ? fopen(name, "r") : NULL;
    char word[16] = "";
    if (!file) return 0;
    int number = ENOSPC, words = fscanf(file, "%15s", word);
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (words == 1 && !strcmp(word, causes[i].name)) number = causes[i].number;
    fclose(file);
    return number;
}

static int sync_unless_full(const char *function, int file)
{
    errno = cause();
    if (errno) return -1;
    int (*next)(int);
    *(void **)&next = dlsym(RTLD_NEXT, function);
    return next(file);
}

int fdatasync(int file)
{
    return sync_unless_full("fdatasync", file);
}

int fsync(int file)
{
    return sync_unless_full("fsync", file);
}
