/* lock.c - one run at a time on a results file: flock on <path>.lock, which names its owner.
 *
 * The kernel gives the lock back when the owner dies, so a lock file without a lock means nothing.  The file
 * is removed while it is still locked, and whoever locks it looks whether it is still the one with that name.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "pesweep/store.h"

static struct {
    bool held;
    int file;
    char path[PATH_MAX], owner[400];
} lock = {.file = -1};

/* `status` looks whether a run is alive by taking the lock for a moment: a refusal is believed after this
 * long. */
enum { ATTEMPTS = 10 };
static const struct timespec between_attempts = {.tv_nsec = 20 * 1000 * 1000};

static void describe_owner(char *owner, size_t size)
{
    char host[128] = "?", since[32] = "";
    gethostname(host, sizeof host - 1);
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts)) strftime(since, sizeof since, "%Y-%m-%dT%H:%M:%SZ", &parts);
    const char *job = getenv("SLURM_JOB_ID"), *restart = getenv("SLURM_RESTART_COUNT");
    int used = snprintf(owner, size, "%s, process %ld", host, (long)getpid());
    if (job && used > 0 && (size_t)used < size)
        used += snprintf(owner + used, size - (size_t)used, ", SLURM job %.32s%s%.16s", job,
                         restart ? " restart " : "", restart ? restart : "");
    if (used > 0 && (size_t)used < size) snprintf(owner + used, size - (size_t)used, ", since %s", since);
}

static void write_owner(const char *more)
{
    char text[512];
    int length = snprintf(text, sizeof text, "%s%s\n", lock.owner, more);
    if (length <= 0 || (size_t)length >= sizeof text) return;
    /* For people's eyes: a failure here changes nothing about the lock. */
    if (ftruncate(lock.file, 0) || pwrite(lock.file, text, (size_t)length, 0) != length) return;
    fdatasync(lock.file);
}

static void read_owner(int file, char *owner, size_t size)
{
    ssize_t length = pread(file, owner, size - 1, 0);
    owner[length > 0 ? length : 0] = 0;
    owner[strcspn(owner, "\n")] = 0;
}

/* True if the locked file is still the one that stands under the name. */
static bool is_current(int file, const char *path)
{
    struct stat mine, named;
    return !fstat(file, &mine) && !stat(path, &named) && mine.st_ino == named.st_ino &&
           mine.st_dev == named.st_dev;
}

enum pes_status store_lock(const char *path, bool *locked)
{
    CHECK(!lock.held);
    char resolved[PATH_MAX], name[PATH_MAX];
    TRY(store_resolve(resolved, path));
    TRY(store_name(name, resolved, ".lock"));
    for (int attempt = 0;; attempt++) {
        int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (file < 0)
            return pes_fail(PES_IO, "%s: cannot write in its folder: %s: %s", path, name, strerror(errno));
        int refused = flock(file, LOCK_EX | LOCK_NB) ? errno : 0;
        if (!refused && !is_current(file, name)) refused = EAGAIN;
        if (!refused || refused == ENOLCK || refused == EOPNOTSUPP || refused == ENOSYS ||
            refused == EINVAL) {
            *locked = !refused;
            lock.file = file;
            lock.held = true;
            strcpy(lock.path, name);
            describe_owner(lock.owner, sizeof lock.owner);
            write_owner("");
            return PES_OK;
        }
        char owner[512];
        read_owner(file, owner, sizeof owner);
        close(file);
        if (refused != EWOULDBLOCK && refused != EAGAIN && refused != EINTR)
            return pes_fail(PES_IO, "%s: cannot lock: %s", name, strerror(refused));
        if (attempt == ATTEMPTS)
            return pes_fail(PES_BUSY, "%s is already being written by %s", path,
                            owner[0] ? owner : "another run");
        nanosleep(&between_attempts, NULL);
    }
}

void store_lock_name_fence(int64_t fence)
{
    char text[48];
    if (!lock.held) return;
    snprintf(text, sizeof text, ", start %lld of this file", (long long)fence);
    write_owner(text);
}

void store_unlock(void)
{
    if (!lock.held) return;
    if (is_current(lock.file, lock.path)) unlink(lock.path);
    close(lock.file);
    lock.file = -1;
    lock.held = false;
}

bool pes_store_is_running(const char *path, char owner[512])
{
    char resolved[PATH_MAX], name[PATH_MAX];
    owner[0] = 0;
    if (store_resolve(resolved, path) != PES_OK || store_name(name, resolved, ".lock") != PES_OK)
        return false;
    int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool locked = flock(file, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
    if (locked) read_owner(file, owner, 512);
    close(file);
    return locked;
}
