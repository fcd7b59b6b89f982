// Debian's libsystemd: the sockets that systemd passes, and the word that the server is ready.
#include <systemd/sd-daemon.h>
