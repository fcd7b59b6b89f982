// Loads a library when it is first needed: with dlopen(3), a table of its functions, and a note in
// the program by which packagers find the library. Also gives back code in memory that is not
// needed.
//
// The libraries are not linked because libcurl needs 30 libraries. If they were linked, an idle
// daemon would take twice the memory and more than twice the time to start, and most starts restore
// their sessions without a call.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One function of a library: its name, and the pointer that receives its address.
struct credd_symbol {
  const char *name;
  void *pointer;
};

// Loads a library and finds its functions. Symbols are searched in the program first, so the
// library uses the program's free(), which wipes memory (CWipingFree).
//
// NULL, or the problem: the text is valid until the thread's next call.
const char *credd_load(const char *soname, const struct credd_symbol *symbols, size_t count);

// Whether one library is loaded. Each library has its own lock, so a library on a dead disk does
// not block the others.
struct credd_once {
  pthread_mutex_t lock;
  bool is_loaded;
};
#define CREDD_ONCE {PTHREAD_MUTEX_INITIALIZER, false}

// Loads a library once for the whole process: calls `load` under the lock, unless it has returned
// NULL before. 0, or -1 with the result of `load` in `reason`.
int credd_load_once(struct credd_once *once, const char *(*load)(void), char *reason, size_t size);

// Gives back the resident pages of the program and its libraries that are the same as in their
// files: code and constants. A page that is used again comes from the page cache, mostly without a
// read; a breakpoint in one is lost.
//
// The reason: most code of the start is not needed again, loading libcurl reads all tables of its
// 30 libraries, and the kernel maps 64 KB around each page. docs/internals/decisions.md has the figures.
void credd_give_code_back(void);

// https://systemd.io/ELF_DLOPEN_METADATA: a note that names a library which a program loads by
// dlopen(). `priority` is "required", "recommended" or "suggested". Linkers and strip(1) keep it.
#define CREDD_DLOPEN_NOTE(feature, description, priority, soname)                                 \
  CREDD_DLOPEN_NOTE_OF("[{\"feature\":\"" feature "\",\"description\":\"" description             \
                       "\",\"priority\":\"" priority "\",\"soname\":[\"" soname "\"]}]")

#define CREDD_DLOPEN_NOTE_OF(json)                                                                \
  __attribute__((used, section(".note.dlopen"), aligned(4))) static const struct {                \
    uint32_t name_size, content_size, type;                                                       \
    char name[4];                                                                                 \
    __attribute__((aligned(4))) char content[sizeof(json)];                                       \
  } credd_dlopen_note = {4, sizeof(json), 0x407c0c0a, "FDO", json}
