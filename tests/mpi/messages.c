/* Messages and agreements between ranks; run on 1, 2, 3 and 5 ranks.  A failed requirement ends all of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "pesweep/comm.h"
#include "pesweep/log.h"

#define REQUIRE(condition)                                                                                   \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "rank %d: %s:%d: %s fails; last message: %s\n", rank, __FILE__, __LINE__,        \
                    #condition, pes_error_message());                                                        \
            pes_comm_abort(1);                                                                               \
        }                                                                                                    \
    } while (0)

static int rank, size;

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void sleep_for(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

static void equal_bytes_are_agreed_on(void)
{
    const char text[] = "the same everywhere";
    REQUIRE(pes_comm_agree(text, sizeof text, "text") == PES_OK);
    REQUIRE(pes_comm_agree("", 0, "nothing") == PES_OK);
}

static void a_rank_that_differs_is_named_on_every_rank(void)
{
    if (size < 2) return;
    const char *mine = rank == size - 1 ? "0.2.0" : "0.1.0";
    REQUIRE(pes_comm_agree(mine, 5, "different builds") == PES_INPUT);
    char expected[64];
    snprintf(expected, sizeof expected, "rank %d on ", size - 1);
    REQUIRE(strstr(pes_error_message(), expected));
    REQUIRE(strstr(pes_error_message(), "has 0.2.0") && strstr(pes_error_message(), "has 0.1.0"));
    /* Another length; bytes that can't be printed. */
    unsigned char bytes[100] = {1, 2, 3};
    REQUIRE(pes_comm_agree(bytes, rank == 1 ? 2 : 3, "the plan") == PES_INPUT);
    REQUIRE(strstr(pes_error_message(), "the plan differs between rank 1 on "));
    if (rank == 1) bytes[99] = 9;
    REQUIRE(pes_comm_agree(bytes, sizeof bytes, "the plan") == PES_INPUT);
}

static void the_worst_status_travels_with_its_message(void)
{
    REQUIRE(pes_comm_worst(PES_OK) == PES_OK);
    enum pes_status status = PES_OK;
    if (rank == size - 1) status = pes_fail(PES_IO, "no room on rank %d", rank);
    REQUIRE(pes_comm_worst(status) == PES_IO);
    char expected[64];
    snprintf(expected, sizeof expected, "no room on rank %d", size - 1);
    REQUIRE(strcmp(pes_error_message(), expected) == 0);
}

static void rank_0_tells_and_gathers(void)
{
    static unsigned char bytes[3000000];
    memset(bytes, rank == 0 ? 77 : 0, sizeof bytes);
    pes_comm_broadcast(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i += 999)
        REQUIRE(bytes[i] == 77);
    int mine = 10 * rank, all[64] = {0};
    pes_comm_gather(&mine, sizeof mine, rank == 0 ? all : NULL);
    for (int r = 0; rank == 0 && r < size; r++)
        REQUIRE(all[r] == 10 * r);
}

/* Everybody sends to rank 0, from nothing at all to more than fits any buffer, and rank 0 answers. */
static void messages_of_any_size_arrive_whole_and_in_order(void)
{
    static const size_t sizes[] = {0, 1, 4096, 20000000};
    unsigned char *bytes = malloc(sizes[3]);
    REQUIRE(bytes);
    if (rank != 0) {
        for (size_t i = 0; i < PES_COUNT(sizes); i++) {
            memset(bytes, rank + (int)i, sizes[i]);
            REQUIRE(pes_comm_send(0, (int)i + 1, bytes, sizes[i]) == PES_OK);
        }
        while (!pes_comm_wait(1))
            ;
        int from, tag;
        size_t count;
        REQUIRE(pes_comm_probe(&from, &tag, &count) && from == 0 && tag == 9 && count == sizeof(int));
        int answer;
        pes_comm_receive(from, tag, &answer, sizeof answer);
        REQUIRE(answer == 100 + rank);
    } else {
        size_t seen[64] = {0};
        for (size_t left = PES_COUNT(sizes) * (size_t)(size - 1); left > 0; left--) {
            while (!pes_comm_wait(1))
                ;
            int from, tag;
            size_t count;
            REQUIRE(pes_comm_probe(&from, &tag, &count));
            REQUIRE(tag == (int)++seen[from] && count == sizes[tag - 1]);
            memset(bytes, 255, sizes[3]);
            pes_comm_receive(from, tag, bytes, count);
            REQUIRE(count == 0 || (bytes[0] == from + tag - 1 && bytes[count - 1] == from + tag - 1));
        }
        for (int r = 1; r < size; r++) {
            int answer = 100 + r;
            REQUIRE(pes_comm_send(r, 9, &answer, sizeof answer) == PES_OK);
        }
    }
    free(bytes);
}

static void ranks_that_wait_sleep(void)
{
    if (size < 2) return;
    double before = cpu_seconds();
    if (rank == 0) sleep_for(1);
    pes_comm_barrier();
    double barrier = cpu_seconds() - before;
    REQUIRE(barrier < 0.2);
    before = cpu_seconds();
    double start = pes_clock();
    REQUIRE(!pes_comm_wait(0.5));
    REQUIRE(pes_clock() - start >= 0.5 && pes_clock() - start < 2);
    REQUIRE(cpu_seconds() - before < 0.1);
    pes_comm_barrier();
}

int main(int argc, char **argv)
{
    pes_signals_install();
    if (pes_comm_start(&argc, &argv, 1) != PES_OK) {
        pes_log_error("%s", pes_error_message());
        return 2;
    }
    rank = pes_comm_rank();
    size = pes_comm_size();
    if (argc > 1 && strcmp(argv[1], "check") == 0) {
        /* A fault on one rank ends those that wait for it. */
        CHECK(rank != size - 1);
        pes_comm_barrier();
        return 0;
    }
    REQUIRE(argc < 2 || size == atoi(argv[1]));
    REQUIRE(pes_comm_num_nodes() == 1);
    equal_bytes_are_agreed_on();
    a_rank_that_differs_is_named_on_every_rank();
    the_worst_status_travels_with_its_message();
    rank_0_tells_and_gathers();
    messages_of_any_size_arrive_whole_and_in_order();
    ranks_that_wait_sleep();
    pes_comm_stop();
    return 0;
}
