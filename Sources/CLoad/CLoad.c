#include "CLoad.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "give_back.h"

const char *credd_load(const char *soname, const struct credd_symbol *symbols, size_t count) {
  void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if (!library) return dlerror();
  for (size_t i = 0; i < count; i++) {
    void *address = dlsym(library, symbols[i].name);
    if (!address) return dlerror();
    *(void **)symbols[i].pointer = address;
  }
  return NULL;
}

int credd_load_once(int *is_loaded, const char *(*load)(void), char *reason, size_t size) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  const char *problem = *is_loaded ? NULL : load();
  *is_loaded = !problem;
  if (problem) {
    snprintf(reason, size, "%s", problem);
  } else {
    credd_give_code_back();
  }
  pthread_mutex_unlock(&lock);
  return problem ? -1 : 0;
}
