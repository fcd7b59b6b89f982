#define _GNU_SOURCE
#include "CLinux.h"

#include <pthread.h>
#include <signal.h>

int credd_start_thread(void *(*run)(void *), void *argument, size_t stack_size) {
  pthread_attr_t attributes;
  pthread_t thread;
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &old);
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  int failure = pthread_attr_setstacksize(&attributes, stack_size);
  if (!failure) failure = pthread_create(&thread, &attributes, run, argument);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return failure;
}
