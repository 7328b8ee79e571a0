/* message.c - messages and agreements between ranks, all of them asleep while they wait.
 *
 * Every collective passes through the sleeping barrier first, so that the blocking call behind it finds all
 * ranks there: ranks that wait for a long serial step use no core. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pesweep/arena.h"
#include "world.h"

#define MAX_MESSAGE_BYTES ((size_t)1 << 30)
#define NAP               1e-3 /* seconds between two looks */

static void nap(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL); /* a signal may cut it short, which is welcome */
}

/* Waits for a request with naps that grow to NAP.  Who waits isn't busy: a message to a rank that has died is
 * never taken. */
static void finish(MPI_Request *request)
{
    int done = 0;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    bool busy = pes_signals_set_busy(false);
    for (double pause = NAP / 32; !done; pause = PES_MIN(2 * pause, NAP)) {
        nap(pause);
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
    pes_signals_set_busy(busy);
}

void pes_comm_barrier(void)
{
    if (pes_world.size == 1) return;
    MPI_Request request;
    MPI_Ibarrier(pes_world.comm, &request);
    finish(&request);
}

void pes_comm_broadcast(void *bytes, size_t count)
{
    if (pes_world.size == 1) return;
    pes_comm_barrier();
    for (size_t done = 0; done < count; done += MAX_MESSAGE_BYTES)
        MPI_Bcast((char *)bytes + done, (int)PES_MIN(count - done, MAX_MESSAGE_BYTES), MPI_BYTE, 0,
                  pes_world.comm);
}

enum pes_status pes_comm_worst(enum pes_status status)
{
    if (pes_world.size == 1) return status;
    pes_comm_barrier();
    struct {
        int status, rank;
    } mine = {(int)status, pes_world.rank}, worst;
    MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MAXLOC, pes_world.comm);
    if (worst.status == PES_OK) return PES_OK;
    /* The message of the lowest such rank goes to all, so that any of them can print it. */
    char message[1024];
    snprintf(message, sizeof message, "%s", pes_error_message());
    MPI_Bcast(message, (int)sizeof message, MPI_CHAR, worst.rank, pes_world.comm);
    return pes_fail((enum pes_status)worst.status, "%s", message);
}

static bool printable(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] < 32 || bytes[i] > 126) return false;
    return count > 0 && count <= 80;
}

enum pes_status pes_comm_agree(const void *bytes, size_t count, const char *what)
{
    if (pes_world.size == 1) return PES_OK;
    pes_comm_barrier();
    /* Lengths first: ranks that disagree may hold texts of different length. */
    uint64_t length = count;
    MPI_Bcast(&length, 1, MPI_UINT64_T, 0, pes_world.comm);
    CHECK(length <= MAX_MESSAGE_BYTES);
    unsigned char *theirs = pes_allocate((size_t)length + 1, 1);
    TRY(pes_comm_worst(theirs ? PES_OK : PES_MEMORY));
    if (pes_world.rank == 0) memcpy(theirs, bytes, count);
    MPI_Bcast(theirs, (int)length, MPI_BYTE, 0, pes_world.comm);
    bool differs = length != count || memcmp(theirs, bytes, count) != 0;

    /* The lowest rank that differs speaks. */
    int speaker = differs ? pes_world.rank : INT_MAX, first;
    MPI_Allreduce(&speaker, &first, 1, MPI_INT, MPI_MIN, pes_world.comm);
    enum pes_status status = PES_OK;
    if (first != INT_MAX) {
        char message[512] = "", host[sizeof pes_world.host];
        memcpy(host, pes_world.host, sizeof host);
        MPI_Bcast(host, (int)sizeof host, MPI_CHAR, 0, pes_world.comm);
        if (pes_world.rank == first) {
            if (printable(bytes, count) && printable(theirs, (size_t)length))
                snprintf(message, sizeof message, "%s: rank %d on %.100s has %.*s, rank 0 on %.100s has %.*s",
                         what, first, pes_world.host, (int)count, (const char *)bytes, host, (int)length,
                         (char *)theirs);
            else
                snprintf(message, sizeof message, "%s differs between rank %d on %.100s and rank 0 on %.100s",
                         what, first, pes_world.host, host);
        }
        MPI_Bcast(message, (int)sizeof message, MPI_CHAR, first, pes_world.comm);
        status = pes_fail(PES_INPUT, "%s", message);
    }
    pes_free(theirs);
    return status;
}

void pes_comm_gather(const void *mine, size_t bytes, void *all)
{
    CHECK(bytes <= MAX_MESSAGE_BYTES);
    if (pes_world.size == 1) {
        memcpy(all, mine, bytes);
        return;
    }
    pes_comm_barrier();
    MPI_Gather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, pes_world.comm);
}

enum pes_status pes_comm_send(int rank, int tag, const void *bytes, size_t count)
{
    if (count > MAX_MESSAGE_BYTES)
        return pes_fail(PES_INTERNAL, "a message of %zu bytes is over the limit of 1 GiB", count);
    CHECK(pes_world.started && rank >= 0 && rank < pes_world.size && rank != pes_world.rank);
    MPI_Request request;
    MPI_Isend(bytes, (int)count, MPI_BYTE, rank, tag, pes_world.comm, &request);
    finish(&request);
    return PES_OK;
}

bool pes_comm_probe(int *rank, int *tag, size_t *count)
{
    if (!pes_world.started || pes_world.size == 1) return false;
    int waits = 0, length = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, pes_world.comm, &waits, &status);
    if (!waits) return false;
    MPI_Get_count(&status, MPI_BYTE, &length);
    *rank = status.MPI_SOURCE;
    *tag = status.MPI_TAG;
    *count = (size_t)length;
    return true;
}

void pes_comm_receive(int rank, int tag, void *bytes, size_t count)
{
    MPI_Request request;
    CHECK(count <= MAX_MESSAGE_BYTES);
    MPI_Irecv(bytes, (int)count, MPI_BYTE, rank, tag, pes_world.comm, &request);
    finish(&request);
}

bool pes_comm_wait(double seconds)
{
    double end = pes_clock() + seconds;
    for (;;) {
        int rank, tag;
        size_t count;
        if (pes_comm_probe(&rank, &tag, &count)) return true;
        double left = end - pes_clock();
        if (left <= 0) return false;
        nap(PES_MIN(left, NAP));
    }
}
