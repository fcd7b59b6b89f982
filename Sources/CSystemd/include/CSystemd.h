// The parts of libsystemd that credd uses: sd-event for the loop, sd-daemon for notifications,
// sd-journal for the structured log.
#pragma once

#include <sys/types.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>
#include <systemd/sd-login.h>
