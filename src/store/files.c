/* files.c - names, durable replacement, room, and which writer suits a file system. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "pesweep/store.h"

enum pes_status store_name(char name[PATH_MAX], const char *path, const char *ending)
{
    int length = snprintf(name, PATH_MAX, "%s%s", path, ending);
    if (length < 0 || length >= PATH_MAX)
        return pes_fail(PES_INPUT, "the path of the results file is too long");
    return PES_OK;
}

/* The folder a path lies in ("." for a bare name). */
static enum pes_status folder_of(char folder[PATH_MAX], const char *path)
{
    TRY(store_name(folder, path, ""));
    char *slash = strrchr(folder, '/');
    if (!slash)
        strcpy(folder, ".");
    else if (slash == folder)
        folder[1] = 0;
    else
        *slash = 0;
    return PES_OK;
}

enum pes_status store_resolve(char resolved[PATH_MAX], const char *path)
{
    if (realpath(path, resolved)) return PES_OK;
    char folder[PATH_MAX], beyond[PATH_MAX];
    TRY(folder_of(folder, path));
    if (!realpath(folder, beyond))
        return pes_fail(PES_IO, "%s: cannot use the folder %s: %s", path, folder, strerror(errno));
    const char *slash = strrchr(path, '/');
    int length =
        snprintf(resolved, PATH_MAX, "%s/%s", strcmp(beyond, "/") ? beyond : "", slash ? slash + 1 : path);
    if (length < 0 || length >= PATH_MAX)
        return pes_fail(PES_INPUT, "the path of the results file is too long");
    return PES_OK;
}

static enum pes_status sync_path(const char *path, int flags)
{
    int file = open(path, flags | O_CLOEXEC);
    if (file < 0) return pes_fail(PES_IO, "%s: cannot open: %s", path, strerror(errno));
    enum pes_status status = PES_OK;
    /* Some file systems can't sync a folder and say EINVAL: there is nothing to be done about it. */
    if (fsync(file) && !(flags & O_DIRECTORY && errno == EINVAL))
        status = pes_fail(PES_IO, "%s: cannot sync: %s", path, strerror(errno));
    close(file);
    return status;
}

enum pes_status store_sync_folder(const char *path)
{
    char folder[PATH_MAX];
    TRY(folder_of(folder, path));
    return sync_path(folder, O_RDONLY | O_DIRECTORY);
}

enum pes_status store_replace(const char *from, const char *to)
{
    TRY(sync_path(from, O_RDONLY));
    if (rename(from, to)) return pes_fail(PES_IO, "%s: cannot rename to %s: %s", from, to, strerror(errno));
    return store_sync_folder(to);
}

void store_give_up(const char *path)
{
    /* Where it can't be done there is nothing left to try. */
    if (truncate(path, 0)) return;
}

enum pes_status store_check_room(const char *path, uint64_t bytes)
{
    char folder[PATH_MAX];
    struct statvfs system;
    TRY(folder_of(folder, path));
    if (statvfs(folder, &system) || !system.f_blocks || !system.f_frsize) return PES_OK;
    double room = (double)system.f_bavail * (double)system.f_frsize;
    if ((double)bytes <= room) return PES_OK;
    return pes_fail(PES_IO, "%s: it needs %.1f MiB, but there is room for %.1f MiB in %s", path,
                    (double)bytes / (1 << 20), room / (1 << 20), folder);
}

void store_linger(const char *point)
{
    const char *folder = getenv("PESWEEP_TEST_LINGER");
    char name[PATH_MAX];
    int length = folder ? snprintf(name, sizeof name, "%s/%s", folder, point) : 0;
    if (length <= 0 || (size_t)length + 24 > sizeof name || access(name, F_OK)) return;
    snprintf(name + length, sizeof name - (size_t)length, ".%ld", (long)getpid());
    int file = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return;
    close(file);
    nanosleep(&(struct timespec){.tv_sec = 20}, NULL);
}

/* Magic numbers of statfs(2) for file systems whose clients keep pages of their own: two nodes that write
 * into one page overwrite each other's bytes. */
static const struct {
    unsigned long magic;
    const char *name;
} unshared_systems[] = {{0x6969, "NFS"},     {0xFF534D42, "CIFS"}, {0xFE534D42, "SMB"}, {0x517B, "SMB"},
                        {0x5346414F, "AFS"}, {0x01021997, "9P"},   {0x65735546, "FUSE"}};

enum pes_writer pes_store_choose_writer(const char *path, int num_nodes, const char **reason)
{
    *reason = "all ranks run on one node";
    if (num_nodes <= 1) return PES_WRITER_SHARED;
    char folder[PATH_MAX];
    struct statfs system;
    *reason = "the file system could not be examined";
    if (folder_of(folder, path) != PES_OK || statfs(folder, &system)) return PES_WRITER_RANK0;
    for (size_t i = 0; i < PES_COUNT(unshared_systems); i++)
        if (((unsigned long)system.f_type & 0xFFFFFFFFUL) == unshared_systems[i].magic) {
            *reason = unshared_systems[i].name;
            return PES_WRITER_RANK0;
        }
    *reason = "the file system keeps several nodes' writes apart";
    return PES_WRITER_SHARED;
}
