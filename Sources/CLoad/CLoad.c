#include "CLoad.h"

#include <dlfcn.h>
#include <stdio.h>

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

int credd_load_once(struct credd_once *once, const char *(*load)(void), char *reason,
                    size_t size) {
  int result = 0;
  pthread_mutex_lock(&once->lock);
  if (!once->is_loaded) {
    const char *problem = load();
    if (problem) {
      snprintf(reason, size, "%s", problem);
      result = -1;
    } else {
      once->is_loaded = true;
      credd_give_code_back();
    }
  }
  pthread_mutex_unlock(&once->lock);
  return result;
}
