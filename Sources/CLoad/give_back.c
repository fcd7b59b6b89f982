#define _GNU_SOURCE
#include "give_back.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Then the dynamic linker has written into pages that are read-only now: they are not the file's.
static bool has_relocated_code(const struct dl_phdr_info *object) {
  for (size_t i = 0; i < object->dlpi_phnum; i++) {
    if (object->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const ElfW(Dyn) *entry = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; entry++) {
      if (entry->d_tag == DT_TEXTREL) return true;
      if (entry->d_tag == DT_FLAGS && entry->d_un.d_val & DF_TEXTREL) return true;
    }
  }
  return false;
}

enum { SEGMENTS_MAX = 16 };  // Linkers make four or five, and some notes.

// Relocated data lies in segments that are writable by the file's headers, so the pages of the
// others are as the file has them. Before Linux 5.18 they stay.
static int give_back(struct dl_phdr_info *object, size_t size, void *context) {
  (void)size, (void)context;
  if (object->dlpi_phnum > SEGMENTS_MAX || has_relocated_code(object)) return 0;
  // A copy: the headers are on a page that is given back, and reading them would load it again.
  ElfW(Phdr) segments[SEGMENTS_MAX];
  memcpy(segments, object->dlpi_phdr, object->dlpi_phnum * sizeof *segments);
  const uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (size_t i = 0; i < object->dlpi_phnum; i++) {
    if (segments[i].p_type != PT_LOAD || segments[i].p_flags & PF_W) continue;
    uintptr_t begin = object->dlpi_addr + segments[i].p_vaddr, page = begin & ~(page_size - 1);
    madvise((void *)page, begin + segments[i].p_memsz - page, MADV_DONTNEED_LOCKED);
  }
  return 0;
}

void credd_give_code_back(void) {
  // Nothing is unloaded meanwhile: the walk holds the dynamic linker's lock.
  dl_iterate_phdr(give_back, NULL);
}
