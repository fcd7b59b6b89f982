// Replaces free() and realloc() of the whole program by ones that overwrite what they give back.
//
// Why: a secret passes through Swift arrays and strings, libcurl's buffers and OpenSSL's; each of
// them frees without wiping. mallopt(M_PERTURB) is meant for this, but glibc skips it for chunks
// that go to the per-thread cache, which are all those up to 1032 bytes. Here every freed byte is
// zero before the allocator sees it. glibc documents replacing these functions ("Replacing
// malloc"); its own are reachable as __libc_*. Sanitizers and valgrind bring their own allocator
// and must keep it, so the replacement is compiled out with them.
//
// A static program, as credctl is, cannot have a second free(): libc.a defines free() in the same
// object file as __libc_free(), and the linker refuses two definitions. So these are weak, and
// libc.a's win. credctl is linked with --wrap=free and --wrap=realloc, which lead every call of them
// to __wrap_*.
#define _GNU_SOURCE
#include "CWipingFree.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CREDD_KEEP_ALLOCATOR 1
#endif
#endif

#ifndef CREDD_KEEP_ALLOCATOR
#define WEAK __attribute__((weak))

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

WEAK void *malloc(size_t size) { return __libc_malloc(size); }
WEAK void *calloc(size_t count, size_t size) { return __libc_calloc(count, size); }
WEAK void *memalign(size_t alignment, size_t size) { return __libc_memalign(alignment, size); }
WEAK void *aligned_alloc(size_t alignment, size_t size) { return __libc_memalign(alignment, size); }

WEAK int posix_memalign(void **result, size_t alignment, size_t size) {
  void *memory = __libc_memalign(alignment, size);
  if (!memory) return ENOMEM;
  *result = memory;
  return 0;
}

void __wrap_free(void *memory) {
  if (!memory) return;
  int saved = errno;
  explicit_bzero(memory, malloc_usable_size(memory));
  __libc_free(memory);
  errno = saved;
}

void *__wrap_realloc(void *memory, size_t size) {
  if (!memory) return malloc(size);
  if (size == 0) {
    __wrap_free(memory);
    return NULL;
  }
  // glibc would move the bytes and free the old place unwiped.
  size_t old = malloc_usable_size(memory);
  if (size <= old && size >= old / 2) {
    if (size < old) explicit_bzero((char *)memory + size, old - size);
    return memory;
  }
  void *moved = malloc(size);
  if (!moved) return NULL;
  memcpy(moved, memory, size < old ? size : old);
  __wrap_free(memory);
  return moved;
}

WEAK void free(void *memory) { __wrap_free(memory); }
WEAK void *realloc(void *memory, size_t size) { return __wrap_realloc(memory, size); }
#endif
