// What Swift's runtime does at every start, and a program that lives for a millisecond has no use
// for. credctl is linked with --wrap of it, which leads the runtime here.
#include <stddef.h>

// Where is the program that reports crashes? A dozen paths are tried. A program with secrets in its
// memory has no such reports anyway.
char *__wrap_swift_copyAuxiliaryExecutablePath(const char *name);
char *__wrap_swift_copyAuxiliaryExecutablePath(const char *name) {
  (void)name;
  return NULL;
}
