#define _GNU_SOURCE
#include "CLinux.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

// Older headers lack it (Linux 5.9).
enum { CGROUP_ID_ATTRIBUTE = 21 };

// One end of a connection: an IPv4 address in the first word, an IPv6 address in all of them. The
// address of an IPv4 connection of an AF_INET6 socket is IPv4.
struct end {
  sa_family_t family;
  uint16_t port;  // in network order
  uint32_t address[4];
};

static void take_in6(const struct in6_addr *address, struct end *end) {
  memset(end->address, 0, sizeof end->address);
  if (IN6_IS_ADDR_V4MAPPED(address)) {
    end->family = AF_INET;
    memcpy(end->address, address->s6_addr + 12, 4);
  } else {
    end->family = AF_INET6;
    memcpy(end->address, address->s6_addr, 16);
  }
}

static int read_end(const struct sockaddr_storage *address, struct end *end) {
  if (address->ss_family == AF_INET) {
    const struct sockaddr_in *in = (const struct sockaddr_in *)address;
    *end = (struct end){.family = AF_INET, .port = in->sin_port};
    end->address[0] = in->sin_addr.s_addr;
    return 0;
  }
  if (address->ss_family != AF_INET6) return -EAFNOSUPPORT;
  const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
  end->port = in6->sin6_port;
  take_in6(&in6->sin6_addr, end);
  return 0;
}

static int ends_of(int connection, struct end *other, struct end *own) {
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  if (getpeername(connection, (struct sockaddr *)&address, &length) < 0) return -errno;
  int result = read_end(&address, other);
  if (result < 0) return result;
  length = sizeof address;
  if (getsockname(connection, (struct sockaddr *)&address, &length) < 0) return -errno;
  return read_end(&address, own);
}

static bool is_end(const struct end *end, uint8_t family, uint16_t port, const void *address) {
  struct end found = {.family = family, .port = port};
  if (family == AF_INET6) {
    struct in6_addr in6;
    memcpy(&in6, address, sizeof in6);
    take_in6(&in6, &found);
  } else {
    memcpy(found.address, address, 4);
  }
  return found.family == end->family && found.port == end->port &&
         memcmp(found.address, end->address, sizeof found.address) == 0;
}

int credd_diag_socket(void) {
  int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
  return netlink < 0 ? -errno : netlink;
}

int credd_is_diag_socket(int descriptor) {
  int domain = 0, protocol = 0;
  socklen_t length = sizeof domain;
  if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &length) < 0)
    return errno == ENOTSOCK ? 0 : -errno;
  length = sizeof protocol;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) < 0) return -errno;
  return domain == AF_NETLINK && protocol == NETLINK_SOCK_DIAG;
}

static int ask(int netlink, uint32_t sequence, const struct end *other, const struct end *own) {
  struct {
    struct nlmsghdr header;
    struct inet_diag_req_v2 question;
  } message;
  memset(&message, 0, sizeof message);
  message.header.nlmsg_len = sizeof message;
  message.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  message.header.nlmsg_flags = NLM_F_REQUEST;
  message.header.nlmsg_seq = sequence;
  message.question.sdiag_family = (uint8_t)other->family;
  message.question.sdiag_protocol = IPPROTO_TCP;
  message.question.idiag_states = ~0u;
  // The wanted socket has the other end's address as its own address.
  message.question.id.idiag_sport = other->port;
  message.question.id.idiag_dport = own->port;
  memcpy(message.question.id.idiag_src, other->address, sizeof other->address);
  memcpy(message.question.id.idiag_dst, own->address, sizeof own->address);
  message.question.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  message.question.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  for (;;) {
    ssize_t sent = sendto(netlink, &message, sizeof message, MSG_DONTWAIT,
                          (struct sockaddr *)&kernel, sizeof kernel);
    if (sent >= 0) return 0;
    if (errno != EINTR) return -errno;
  }
}

static int read_report(const struct nlmsghdr *header, const struct end *other,
                       const struct end *own, struct credd_socket_report *report) {
  if (header->nlmsg_type == NLMSG_ERROR) {
    if (header->nlmsg_len < NLMSG_LENGTH(sizeof(struct nlmsgerr))) return -EBADMSG;
    const struct nlmsgerr *failure = NLMSG_DATA(header);
    return failure->error < 0 ? failure->error : -EBADMSG;
  }
  if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
      header->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
    return -EBADMSG;
  const struct inet_diag_msg *found = NLMSG_DATA(header);
  *report = (struct credd_socket_report){
      .is_of_other_end =
          is_end(other, found->idiag_family, found->id.idiag_sport, found->id.idiag_src) &&
          is_end(own, found->idiag_family, found->id.idiag_dport, found->id.idiag_dst),
      .state = found->idiag_state,
      .uid = found->idiag_uid,
      .inode = found->idiag_inode,
  };
  int left = (int)(header->nlmsg_len - NLMSG_LENGTH(sizeof *found));
  const struct rtattr *attribute =
      (const struct rtattr *)((const char *)found + NLMSG_ALIGN(sizeof *found));
  for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
    if ((attribute->rta_type & NLA_TYPE_MASK) != CGROUP_ID_ATTRIBUTE ||
        RTA_PAYLOAD(attribute) < sizeof report->control_group)
      continue;
    memcpy(&report->control_group, RTA_DATA(attribute), sizeof report->control_group);
    report->has_control_group = true;
  }
  return 0;
}

int credd_ask_other_end(int netlink, uint32_t sequence, int connection,
                        struct credd_socket_report *report) {
  struct end other = {0}, own = {0};
  int result = ends_of(connection, &other, &own);
  if (result < 0) return result;
  result = ask(netlink, sequence, &other, &own);
  if (result < 0) return result;
  // The kernel has answered before sendto() returned. Messages of other processes, and answers to
  // earlier questions, are dropped.
  for (int tries = 0; tries < 64; tries++) {
    union {
      struct nlmsghdr header;
      char bytes[4096];
    } reply;
    struct sockaddr_nl sender = {0};
    socklen_t length = sizeof sender;
    ssize_t count = recvfrom(netlink, &reply, sizeof reply, MSG_DONTWAIT,
                             (struct sockaddr *)&sender, &length);
    if (count < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN ? -ENOMSG : -errno;
    }
    if (sender.nl_pid != 0 || !NLMSG_OK(&reply.header, (size_t)count) ||
        reply.header.nlmsg_seq != sequence)
      continue;
    return read_report(&reply.header, &other, &own, report);
  }
  return -ENOMSG;
}

int credd_empty_diag_socket(int netlink) {
  char bytes[64];
  for (;;) {
    if (recv(netlink, bytes, sizeof bytes, MSG_DONTWAIT) >= 0 || errno == EINTR) continue;
    return errno == EAGAIN ? 0 : -errno;
  }
}

int credd_tcp_state(int connection) {
  struct tcp_info information;
  socklen_t length = sizeof information;
  if (getsockopt(connection, IPPROTO_TCP, TCP_INFO, &information, &length) < 0) return -errno;
  return information.tcpi_state == TCP_CLOSE ? -ENOTCONN : information.tcpi_state;
}

// Listeners.

static bool is_loopback(const struct end *end) {
  if (end->family == AF_INET) return (ntohl(end->address[0]) >> 24) == 127;
  struct in6_addr address;
  memcpy(&address, end->address, sizeof address);
  return IN6_IS_ADDR_LOOPBACK(&address);
}

static int loopback_name(int descriptor, struct credd_tcp_name *name) {
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  if (getsockname(descriptor, (struct sockaddr *)&address, &length) < 0) return -errno;
  struct end end;
  if (read_end(&address, &end) < 0 || !is_loopback(&end)) return 0;
  name->is_ipv6 = end.family == AF_INET6;
  memcpy(name->ipv4, end.address, sizeof name->ipv4);
  name->port = ntohs(end.port);
  return 1;
}

int credd_is_loopback_listener(int descriptor, struct credd_tcp_name *name) {
  int value = 0;
  socklen_t length = sizeof value;
  if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) < 0)
    return errno == ENOTSOCK ? 0 : -errno;
  if (!value) return 0;
  length = sizeof value;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &value, &length) < 0) return -errno;
  return value == IPPROTO_TCP ? loopback_name(descriptor, name) : 0;
}

static socklen_t socket_address(const struct credd_tcp_name *name,
                                struct sockaddr_storage *address) {
  memset(address, 0, sizeof *address);
  if (name->is_ipv6) {
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)address;
    in6->sin6_family = AF_INET6;
    in6->sin6_addr = in6addr_loopback;
    in6->sin6_port = htons(name->port);
    return sizeof *in6;
  }
  struct sockaddr_in *in = (struct sockaddr_in *)address;
  in->sin_family = AF_INET;
  memcpy(&in->sin_addr, name->ipv4, sizeof name->ipv4);
  in->sin_port = htons(name->port);
  return sizeof *in;
}

int credd_listen_loopback(struct credd_tcp_name *name, int backlog) {
  struct sockaddr_storage address;
  socklen_t length = socket_address(name, &address);
  int listener = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return -errno;
  // Allows listening while ended connections of a former process are still in the kernel.
  int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  int result = 0;
  if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, backlog) < 0)
    result = -errno;
  if (result == 0) result = loopback_name(listener, name) == 1 ? 0 : -EADDRNOTAVAIL;
  if (result < 0) {
    close(listener);
    return result;
  }
  return listener;
}

// The sandbox of credd.service hides the setting, so this function tries to bind. The kernel checks
// the right before it checks whether the address is free. Nothing listens there afterwards.
static int may_bind(uint16_t port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(0x7FFFFFFE);
  int trial = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (trial < 0) return -errno;
  int result = bind(trial, (struct sockaddr *)&address, sizeof address) == 0 || errno == EADDRINUSE
                   ? 1
                   : (errno == EACCES ? 0 : -errno);
  close(trial);
  return result;
}

int credd_port_is_open(uint16_t port) {
  // Root may listen on any port, so root's try would say nothing.
  if (geteuid() != 0) return may_bind(port);
  FILE *setting = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "re");
  if (!setting) return -errno;
  unsigned first = 0;
  int count = fscanf(setting, "%u", &first);
  fclose(setting);
  return count == 1 ? port >= first : -EIO;
}

int credd_connect_loopback(const struct credd_tcp_name *name) {
  struct sockaddr_storage address;
  socklen_t length = socket_address(name, &address);
  int connection = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return -errno;
  if (connect(connection, (struct sockaddr *)&address, length) < 0) {
    int error = errno;
    close(connection);
    return -error;
  }
  return connection;
}

void credd_finish_sending(int connection) { shutdown(connection, SHUT_WR); }

void credd_drop_input(int connection, size_t most) {
  recv(connection, NULL, most, MSG_TRUNC | MSG_DONTWAIT);
}

void credd_reset_on_close(int connection) {
  struct linger none = {.l_onoff = 1, .l_linger = 0};
  setsockopt(connection, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

int credd_send_at_once(int connection) {
  int on = 1;
  return setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0 ? -errno : 0;
}

static ssize_t unix_name(const struct sockaddr_un *address, socklen_t length, void *name,
                         size_t capacity) {
  size_t start = offsetof(struct sockaddr_un, sun_path);
  size_t count = length > start ? length - start : 0;
  if (count > capacity || count > sizeof address->sun_path) return -ENAMETOOLONG;
  memcpy(name, address->sun_path, count);
  return (ssize_t)count;
}

ssize_t credd_peer_name(int descriptor, void *name, size_t capacity) {
  struct sockaddr_un address;
  socklen_t length = sizeof address;
  if (getpeername(descriptor, (struct sockaddr *)&address, &length) < 0) return -errno;
  return unix_name(&address, length, name, capacity);
}

ssize_t credd_own_name(int descriptor, void *name, size_t capacity) {
  struct sockaddr_un address;
  socklen_t length = sizeof address;
  if (getsockname(descriptor, (struct sockaddr *)&address, &length) < 0) return -errno;
  return unix_name(&address, length, name, capacity);
}

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

int credd_network_namespace(int socket, uint64_t *cookie) {
  socklen_t length = sizeof *cookie;
  return getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, cookie, &length) < 0 ? -errno : 0;
}

// Control groups.

#ifndef CGROUP2_SUPER_MAGIC
#define CGROUP2_SUPER_MAGIC 0x63677270
#endif

int credd_is_cgroup2(const char *path) {
  struct statfs status;
  if (statfs(path, &status) < 0) return -errno;
  return status.f_type == CGROUP2_SUPER_MAGIC;
}

// Deeper and wider than on any host. No group below this depth is entered, and a walk that is too
// long is given up.
enum { DEEPEST_GROUP = 32, MOST_GROUPS = 100000 };
// A user to whom a group is delegated may make any number of groups in it. A walk looks at only so
// many of each such group, and at the groups of the host first. So a user's groups cannot hide
// those of others.
enum { MOST_DELEGATED_GROUPS = 4096 };

struct walk {
  uint64_t inode;
  char *path;
  size_t capacity, length;
  bool enters_delegated;
  // How many more directories may be looked at: of the host, and of the present delegated group.
  int left, left_of_delegated;
  // -errno of a group that could not be entered; 0 without one.
  int error;
};

static int walk_into(int folder, int depth, bool is_delegated, struct walk *walk);

static int walk_below(DIR *entries, const char *name, int depth, bool is_delegated,
                      struct walk *walk) {
  int inner = openat(dirfd(entries), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  struct stat status;
  if (inner < 0) {
    int error = errno;
    // The group may have ended meanwhile, and a user may close groups that are delegated to it: then
    // that is no error of the walk.
    bool is_users =
        is_delegated || (fstatat(dirfd(entries), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                         status.st_uid != 0);
    if (error != ENOENT && !(error == EACCES && is_users)) walk->error = -error;
    return 0;
  }
  if (!is_delegated && (fstat(inner, &status) < 0 || status.st_uid != 0)) {
    if (!walk->enters_delegated) {
      close(inner);
      return 0;
    }
    is_delegated = true;
    walk->left_of_delegated = MOST_DELEGATED_GROUPS;
  }
  return walk_into(inner, depth + 1, is_delegated, walk);
}

// Looks only at directories, whose inode numbers are in the entries.
static int walk_into(int folder, int depth, bool is_delegated, struct walk *walk) {
  DIR *entries = fdopendir(folder);
  if (!entries) {
    int error = errno;
    close(folder);
    return -error;
  }
  int result = 0;
  const struct dirent *entry;
  while (result == 0 && (entry = readdir(entries))) {
    if (entry->d_type != DT_DIR || entry->d_name[0] == '\0' ||
        strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
      continue;
    if (is_delegated && walk->left_of_delegated-- <= 0) break;
    if (!is_delegated && walk->left-- <= 0) {
      result = -E2BIG;
      break;
    }
    size_t before = walk->length, added = strlen(entry->d_name) + 1;
    if (before + added + 1 > walk->capacity) continue;
    walk->path[before] = '/';
    memcpy(walk->path + before + 1, entry->d_name, added);
    walk->length = before + added;
    if (entry->d_ino == walk->inode)
      result = 1;
    else if (depth < DEEPEST_GROUP)
      result = walk_below(entries, entry->d_name, depth, is_delegated, walk);
    if (result != 1) {
      walk->length = before;
      walk->path[before] = '\0';
    }
  }
  closedir(entries);
  return result;
}

int credd_control_group_path(const char *root, uint64_t id, char *path, size_t capacity) {
  if (capacity == 0) return -EINVAL;
  int result = 0, error = 0;
  for (int round = 0; round < 2 && result == 0; round++) {
    int folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return -errno;
    path[0] = '\0';
    struct walk walk = {.inode = id,
                        .path = path,
                        .capacity = capacity,
                        .enters_delegated = round == 1,
                        .left = MOST_GROUPS};
    result = walk_into(folder, 0, false, &walk);
    if (walk.error != 0) error = walk.error;
  }
  return result == 0 ? error : result;
}

int credd_inode(const char *path, uint64_t *inode) {
  struct stat status;
  if (lstat(path, &status) < 0) return -errno;
  *inode = status.st_ino;
  return 0;
}
