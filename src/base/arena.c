/* arena.c - a list of blocks, the newest last; everything taken is zeroed and 64-byte aligned. */
#include "pesweep/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, SMALLEST_BLOCK = 64 << 10, HUGE_PAGE = 2 << 20 };

struct block {
    struct block *previous;
    size_t capacity, used; /* of the bytes after the header, which is ALIGNMENT long */
    size_t used_before;    /* bytes handed out by earlier blocks */
};

struct pes_arena {
    struct block *last;
    /* The largest block given back by a rewind: loops that rewind would map and unmap the same memory each
     * time. */
    struct block *spare;
    size_t peak;
};

static long allocations, fail_after;

long pes_allocate_fail_after(long n)
{
    long made = allocations;
    allocations = 0;
    fail_after = n;
    return made;
}

/* True if this allocation is one that a test lets fail. */
static bool must_fail(void)
{
    allocations++;
    return fail_after > 0 && allocations == fail_after;
}

static void *report(void *memory, size_t bytes)
{
    if (!memory) (void)pes_fail(PES_MEMORY, "no memory for %zu bytes", bytes);
    return memory;
}

void *pes_allocate(size_t count, size_t size)
{
    return report(must_fail() ? NULL : calloc(PES_MAX(count, 1), PES_MAX(size, 1)), count * size);
}

void *pes_reallocate(void *memory, size_t count, size_t size)
{
    bool overflow = size && count > SIZE_MAX / size;
    return report(overflow || must_fail() ? NULL : realloc(memory, PES_MAX(count * size, 1)), count * size);
}

void pes_free(void *memory)
{
    free(memory);
}

struct pes_arena *pes_arena_create(void)
{
    return pes_allocate(1, sizeof(struct pes_arena));
}

static void give_back_last(struct pes_arena *arena)
{
    struct block *last = arena->last;
    arena->last = last->previous;
    if (!arena->spare || arena->spare->capacity < last->capacity) {
        free(arena->spare);
        arena->spare = last;
    } else {
        free(last);
    }
}

void pes_arena_destroy(struct pes_arena *arena)
{
    if (!arena) return;
    while (arena->last)
        give_back_last(arena);
    free(arena->spare);
    free(arena);
}

/* Large blocks ask for huge pages: a training step walks over tens of megabytes, more than the table of small
 * pages that a core remembers.  The system may ignore it. */
static struct block *new_block(size_t bytes)
{
    if (bytes < 2 * (size_t)HUGE_PAGE) return aligned_alloc(ALIGNMENT, bytes);
    bytes = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    struct block *block = aligned_alloc(HUGE_PAGE, bytes);
#ifdef MADV_HUGEPAGE
    if (block) (void)madvise(block, bytes, MADV_HUGEPAGE);
#endif
    return block;
}

static struct block *add_block(struct pes_arena *arena, size_t bytes)
{
    size_t capacity = PES_MAX(bytes, (size_t)SMALLEST_BLOCK);
    /* Blocks double up to 16 MiB so that many small requests make few of them. */
    if (arena->last) capacity = PES_MAX(capacity, PES_MIN(2 * arena->last->capacity, (size_t)16 << 20));
    if (capacity > SIZE_MAX - 2 * HUGE_PAGE) return report(NULL, bytes);
    capacity = (capacity + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct block *block;
    if (arena->spare && arena->spare->capacity >= bytes) {
        block = arena->spare;
        capacity = block->capacity;
        arena->spare = NULL;
    } else {
        block = must_fail() ? NULL : new_block(capacity + ALIGNMENT);
        if (!block) return report(NULL, bytes);
    }
    *block = (struct block){arena->last, capacity, 0, pes_arena_bytes(arena)};
    arena->last = block;
    return block;
}

void *pes_arena_take(struct pes_arena *arena, size_t count, size_t size)
{
    if (size && count > (SIZE_MAX - ALIGNMENT) / size) return report(NULL, SIZE_MAX);
    size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!bytes) bytes = ALIGNMENT;
    struct block *block = arena->last;
    if (!block || block->capacity - block->used < bytes) {
        block = add_block(arena, bytes);
        if (!block) return NULL;
    }
    unsigned char *memory = (unsigned char *)block + ALIGNMENT + block->used;
    block->used += bytes;
    arena->peak = PES_MAX(arena->peak, pes_arena_bytes(arena));
    return memset(memory, 0, bytes);
}

char *pes_arena_copy_text(struct pes_arena *arena, const char *text)
{
    size_t length = strlen(text);
    char *copy = pes_arena_take(arena, length + 1, 1);
    return copy ? memcpy(copy, text, length) : NULL;
}

char *pes_arena_printf(struct pes_arena *arena, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = length < 0 ? NULL : pes_arena_take(arena, (size_t)length + 1, 1);
    if (text) vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

struct pes_arena_mark pes_arena_mark(const struct pes_arena *arena)
{
    return (struct pes_arena_mark){arena->last, arena->last ? arena->last->used : 0};
}

void pes_arena_rewind(struct pes_arena *arena, struct pes_arena_mark mark)
{
    while (arena->last && arena->last != mark.block)
        give_back_last(arena);
    if (arena->last) arena->last->used = mark.used;
}

size_t pes_arena_bytes(const struct pes_arena *arena)
{
    return arena->last ? arena->last->used_before + arena->last->used : 0;
}

size_t pes_arena_peak_bytes(const struct pes_arena *arena)
{
    return arena->peak;
}
