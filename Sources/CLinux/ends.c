// Signals that end credctl while it waits for its user. They are only noted, so that credctl can
// restore the terminal and cancel the sign-in before it ends by the signal.
#define _GNU_SOURCE
#include "CLinux.h"

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
#define NUMBERS (sizeof numbers / sizeof *numbers)

static volatile sig_atomic_t noted;
static bool is_noting;
// What was in their place: Swift's runtime may have a handler of its own for SIGQUIT.
static struct sigaction before[NUMBERS];

static void note(int number) { noted = number; }

bool credd_note_ends(void) {
  if (is_noting) return false;
  is_noting = true;
  for (unsigned index = 0; index < NUMBERS; index++) {
    // What the caller ignores, as under nohup, ends nothing.
    if (sigaction(numbers[index], NULL, &before[index]) < 0 || before[index].sa_handler == SIG_IGN)
      continue;
    // Without SA_RESTART: a wait is interrupted.
    struct sigaction action = {.sa_handler = note};
    sigemptyset(&action.sa_mask);
    sigaction(numbers[index], &action, NULL);
  }
  return true;
}

void credd_let_ends_through(void) {
  is_noting = false;
  for (unsigned index = 0; index < NUMBERS; index++) {
    struct sigaction present;
    if (sigaction(numbers[index], NULL, &present) == 0 && present.sa_handler == note)
      sigaction(numbers[index], &before[index], NULL);
  }
  int number = credd_take_noted_end();
  if (number != 0) credd_end_by(number);
}

int credd_noted_end(void) { return noted; }

int credd_take_noted_end(void) {
  int number = noted;
  noted = 0;
  return number;
}

void credd_end_by(int number) {
  signal(number, SIG_DFL);
  raise(number);
}

static void *wait_and_end(void *descriptor) {
  struct pollfd input = {.fd = (int)(intptr_t)descriptor, .events = POLLIN};
  while (poll(&input, 1, -1) < 0) {
  }
  _exit(0);
}

int credd_end_when_readable(int descriptor) {
  return -credd_start_thread(wait_and_end, (void *)(intptr_t)descriptor, CREDD_SMALL_STACK);
}
