/* arena.h - memory that lives and dies together.
 *
 * One arena holds a trial; a second is rewound every step.  Everything taken is 64-byte aligned and zeroed.
 * Arenas are not shared between threads. */
#ifndef PESWEEP_ARENA_H
#define PESWEEP_ARENA_H

#include "pesweep/base.h"

struct pes_arena;

/* The caller owns the arena.  NULL if there is no memory (pes_fail(PES_MEMORY) has been called). */
struct pes_arena *pes_arena_create(void);
void pes_arena_destroy(struct pes_arena *arena); /* NULL is allowed */

/* `count` elements of `size` bytes, zeroed; NULL on overflow or lack of memory (pes_fail(PES_MEMORY) called).
 * count 0 gives a valid pointer to nothing. */
void *pes_arena_take(struct pes_arena *arena, size_t count, size_t size);
char *pes_arena_copy_text(struct pes_arena *arena, const char *text);
char *pes_arena_printf(struct pes_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A place to come back to: everything taken after the mark is given back by the rewind. */
struct pes_arena_mark {
    void *block;
    size_t used;
};
struct pes_arena_mark pes_arena_mark(const struct pes_arena *arena);
void pes_arena_rewind(struct pes_arena *arena, struct pes_arena_mark mark);

/* Bytes handed out now, and the most there ever were. */
size_t pes_arena_bytes(const struct pes_arena *arena);
size_t pes_arena_peak_bytes(const struct pes_arena *arena);

/* calloc/realloc/free with the same reporting, for things without an arena. */
void *pes_allocate(size_t count, size_t size);
void *pes_reallocate(void *memory, size_t count, size_t size); /* the old block stays valid on failure */
void pes_free(void *memory);

/* Tests: the n-th allocation from now fails (0: none does). Returns how many were made since the last call.
 */
long pes_allocate_fail_after(long n);

#endif
