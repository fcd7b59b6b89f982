// libsystemd as credd uses it: sd-event is the loop, sd-daemon the notification protocol,
// sd-journal the structured log.
#pragma once

#include <sys/types.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>
#include <systemd/sd-login.h>
