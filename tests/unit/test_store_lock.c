/* test_store_lock.c - one run at a time, also where the lock file goes and comes between opening and locking.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "../../src/store/files.h"
#include "test_folder.h"

/* What another run does just before the next flock of this process. */
static void (*meanwhile)(void);
static int other = -1;

int flock(int file, int operation)
{
    void (*happens)(void) = meanwhile;
    meanwhile = NULL;
    if (happens) happens();
    return (int)syscall(SYS_flock, file, operation);
}

static void take(void)
{
    other = open(in_folder("r.h5.lock"), O_RDWR | O_CREAT, 0666);
    assert_true(other >= 0);
    assert_int_equal(syscall(SYS_flock, other, LOCK_EX | LOCK_NB), 0);
}

static void let_go(void)
{
    assert_int_equal(unlink(in_folder("r.h5.lock")), 0);
    close(other);
}

static void let_go_and_take_again(void)
{
    let_go();
    take();
}

static void a_run_that_goes_leaves_the_lock_to_the_next(void **unused)
{
    (void)unused;
    bool locked;
    take();
    assert_int_equal(store_lock(in_folder("r.h5"), &locked), PES_BUSY);
    let_go();
    assert_int_equal(store_lock(in_folder("r.h5"), &locked), PES_OK);
    assert_true(locked);
    store_unlock();
    assert_int_equal(access(in_folder("r.h5.lock"), F_OK), -1);
}

static void a_lock_on_a_file_that_lost_its_name_is_none(void **unused)
{
    (void)unused;
    bool locked;
    take();
    meanwhile = let_go_and_take_again;
    assert_int_equal(store_lock(in_folder("r.h5"), &locked), PES_BUSY);
    let_go();
    take();
    meanwhile = let_go;
    assert_int_equal(store_lock(in_folder("r.h5"), &locked), PES_OK);
    assert_int_equal(access(in_folder("r.h5.lock"), F_OK), 0);
    store_unlock();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_goes_leaves_the_lock_to_the_next),
        cmocka_unit_test(a_lock_on_a_file_that_lost_its_name_is_none),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
