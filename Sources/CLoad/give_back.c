#define _GNU_SOURCE
#include "CLoad.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24  // Linux 5.18; glibc names it since 2.36
#endif

// If there are text relocations, the dynamic linker has written into pages that are read-only now,
// so they differ from the file.
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

enum { SEGMENTS_MAX = 16 };  // Linkers make four or five segments, and some notes.

// According to the file's headers, segments with relocated data are writable, so the pages of all
// other segments equal those of the file. Before Linux 5.18 the kernel does not give them back.
static int give_back(struct dl_phdr_info *object, size_t size, void *context) {
  (void)size, (void)context;
  if (object->dlpi_phnum > SEGMENTS_MAX || has_relocated_code(object)) return 0;
  // Copy the headers, because they are on a page that is given back, and reading them would load
  // that page again.
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
  // No library can be unloaded during the walk: it holds the dynamic linker's lock.
  dl_iterate_phdr(give_back, NULL);
}
