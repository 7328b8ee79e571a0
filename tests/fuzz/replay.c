/* replay.c - feeds the files of corpora to a target, in place of libFuzzer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz.h"

static size_t num_replayed;

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat facts;
    if (!file || fstat(fileno(file), &facts)) {
        perror(path);
        exit(2);
    }
    /* Of exactly its size, so that a sanitizer sees one byte too many. */
    size_t size = (size_t)facts.st_size;
    uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes || fread(bytes, 1, size, file) != size) {
        perror(path);
        exit(2);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    num_replayed++;
}

/* A file, or all files of a folder and of those in it. */
static void replay(const char *path)
{
    DIR *directory = opendir(path);
    if (!directory) {
        replay_file(path);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        char name[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        replay(name);
    }
    closedir(directory);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("%zu inputs\n", num_replayed);
    return num_replayed ? 0 : 1;
}
