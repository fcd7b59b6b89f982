// The HTTP server of the sandbox, by libmicrohttpd, and the sockets and the epoll set around it.
// libmicrohttpd is set up by variadic functions, which Swift cannot call; epoll and signalfd are
// missing from Swift's Glibc module.
//
// Nothing here starts a thread: all callbacks come from within csandbox_run.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// Sockets. Both return a listening descriptor, or -errno.

// On 127.0.0.1; port 0 takes any. `port` gets the one that was taken.
int csandbox_listen_tcp(uint16_t *port);
// A socket that lies there from an earlier time is replaced, any other file is not.
int csandbox_listen_unix(const char *path);

// Waiting.

// An epoll set, or -errno.
int csandbox_poller(void);
// Of `watch` the descriptor's being readable is told, else only that the other side has ended its
// sending or is gone. 0, or -errno.
int csandbox_watch(int poller, int descriptor, bool readable, uint64_t token);
void csandbox_unwatch(int poller, int descriptor);
// The tokens of what is ready. -1 milliseconds: without end. How many there are, or -errno.
int csandbox_wait(int poller, int milliseconds, uint64_t *tokens, int capacity);
// A descriptor that is readable once one of these blocked signals came, or -errno.
int csandbox_signals(const sigset_t *signals);

// Serving.

// A listening socket with its connections.
struct csandbox_listener;
// A request, and the reply to it.
struct csandbox_call;

struct csandbox_owner {
  void *context;
  // Whether a further connection is taken; else it is closed at once.
  bool (*has_room)(void *context);
  void (*connection_opened)(void *context);
  void (*connection_closed)(void *context);
  // A request is there as a whole, or is too long. It is replied to, reset or held before this
  // returns, or its connection is closed.
  void (*received)(void *context, struct csandbox_listener *listener, struct csandbox_call *call);
};

struct csandbox_limits {
  unsigned connections;
  unsigned idle_seconds;
  size_t body;
};

// PEM texts that end with NUL.
struct csandbox_tls {
  const char *certificate;
  const char *key;
  // Where given, a client must show a certificate of one of these.
  const char *_Nullable client_authorities;
};

// Serves on a socket, which then belongs to the listener. NULL with what stands in the way in
// `reason`.
struct csandbox_listener *_Nullable csandbox_start(int socket, const struct csandbox_owner *owner,
                                                   const struct csandbox_limits *limits,
                                                   const struct csandbox_tls *_Nullable tls,
                                                   char *reason, size_t size);
// Readable when the listener has work.
int csandbox_descriptor(struct csandbox_listener *listener);
// Does the work there is.
//
// After so many milliseconds at the latest it wants to run again; -1: not before its descriptor is
// readable.
int csandbox_run(struct csandbox_listener *listener);
// Closes all connections. No call may be held.
void csandbox_stop(struct csandbox_listener *listener);

// What was asked. All pointers are good until the call is replied to, reset, held or released.
const char *csandbox_method(struct csandbox_call *call);
// The target as it was sent, percent-encoded.
const char *csandbox_target(struct csandbox_call *call);
const void *_Nullable csandbox_body(struct csandbox_call *call, size_t *length);
// The body is longer than the limit; what came of it was discarded.
bool csandbox_is_too_long(struct csandbox_call *call);
void csandbox_each_field(struct csandbox_call *call, void *context,
                         void (*each)(void *context, const char *name, const char *value));

// Replies with a copy of the body. Of `length` bytes only `sent` go out, if they are fewer, and then
// the connection ends.
void csandbox_reply(struct csandbox_call *call, unsigned status, const void *_Nullable body,
                    size_t length, size_t sent);
// After csandbox_reply. "Connection: close" ends the connection after the reply.
void csandbox_reply_field(struct csandbox_call *call, const char *name, const char *value);

// The client sees a reset of the connection, and no end of it. A Unix socket knows no reset: there
// the connection ends.
void csandbox_reset(struct csandbox_call *call);

// Leaves a call for later, from within `received`: other connections go on. The descriptor of its
// connection, to be watched for the client's leaving.
int csandbox_hold(struct csandbox_call *call);
// Goes on with a held call: sends its reply, or closes the connection where there is none. The call
// is gone; its listener has to run.
void csandbox_release(struct csandbox_call *call);

#pragma clang assume_nonnull end
