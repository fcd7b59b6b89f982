// Replaces free() and realloc() of the whole program by functions that overwrite the memory that
// they give back.
//
// The reason: a secret passes through Swift arrays and strings, and through buffers of libcurl and
// OpenSSL, which all free memory without wiping it. mallopt(M_PERTURB) is meant for this, but
// glibc does not apply it to chunks of the per-thread cache, which are all chunks up to 1032 bytes.
// Here every freed byte is zero before the allocator sees it. glibc documents the replacement of
// these functions ("Replacing malloc"); its own functions have the names __libc_*. Sanitizers and
// valgrind have their own allocator and must keep it, so the replacement is compiled out with them.
//
// A static program such as credctl cannot have a second free(): libc.a defines free() in the same
// object file as __libc_free(), and the linker refuses two definitions. So these functions are
// weak, and those of libc.a are used. credctl is linked with --wrap=free and --wrap=realloc, which
// replace every call of them by a call of __wrap_*.
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
  // glibc would move the bytes and free the old place without wiping it.
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
