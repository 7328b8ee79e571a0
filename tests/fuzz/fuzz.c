/* fuzz.c - files for targets whose reader wants a path. */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[256];

static void remove_folder(void)
{
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory) closedir(directory);
    rmdir(folder);
}

const char *fuzz_folder(void)
{
    if (folder[0]) return folder;
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/pesweep-fuzz-XXXXXX",
             !access("/dev/shm", W_OK) ? "/dev/shm" : (temporary ? temporary : "/tmp"));
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(2);
    }
    atexit(remove_folder);
    return folder;
}

void fuzz_write(const char *name, const void *bytes, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || write(file, bytes, size) != (ssize_t)size || close(file)) {
        perror(path);
        exit(2);
    }
}
