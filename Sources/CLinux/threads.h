#pragma once

#include <stddef.h>

// Starts a thread that nobody waits for; 0 or an error number. Signals are the loop's thread's.
int credd_start_thread(void *(*run)(void *), void *argument, size_t stack_size);
