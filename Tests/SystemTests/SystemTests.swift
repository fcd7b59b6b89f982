import Testing

/// credd as a service: the installed package under a real systemd, real users with real uids.
@Suite(
  .serialized, .enabled(if: Machine.obstacle == nil, Comment(rawValue: Machine.obstacle ?? "")),
  .onMachine)
enum SystemTests {}
