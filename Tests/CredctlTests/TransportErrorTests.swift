import CredctlKit
import TestSupport
import Testing

struct TransportErrorTests {
  private func resolve(
    _ argument: String? = nil, _ environment: [String: String] = [:], existing: String = ""
  ) -> SocketPath {
    SocketPath(argument: argument, environment: { environment[$0] }, exists: { $0 == existing })
  }

  @Test func anotherUsersSocketInTheUsersPlaceIsPassedOver() {
    let user = "/run/user/7/credd/credd.sock"
    func path(_ argument: String?, _ environment: [String: String]) -> SocketPath {
      SocketPath(
        argument: argument, environment: { environment[$0] }, exists: { $0 == user },
        passesOverUser: true)
    }
    expect(path(nil, ["XDG_RUNTIME_DIR": "/run/user/7"]), equals: .system)
    expect(path("/arg", ["XDG_RUNTIME_DIR": "/run/user/7"]).path, equals: "/arg")
  }

  @Test(arguments: [
    ("/a/b", nil, "/a", true), ("/a/b", nil, "/run/credd", false), ("/b", nil, "/", true),
    ("b", nil, ".", true), (nil, nil, "/run/credd", true), (nil, nil, "/run", false),
    (nil, "/run/user/7", "/run/user/7/credd", true), (nil, "/run/user/7", "/run/credd", true),
    (nil, "/run/user/7", "/run/user/7", false),
  ])
  func aSocketMayAppearWhereItsFolderIs(
    _ argument: String?, _ runtime: String?, _ folder: String, _ mayAppear: Bool
  ) {
    let environment = ["XDG_RUNTIME_DIR": runtime]
    expect(
      SocketPath.mayAppear(
        argument: argument, environment: { environment[$0] ?? nil }, exists: { $0 == folder }),
      equals: mayAppear)
  }

  @Test func takesTheFirstPathThatIsSet() {
    let environment = ["CREDD_SOCKET": "/env", "XDG_RUNTIME_DIR": "/run/user/7"]
    let user = "/run/user/7/credd/credd.sock"
    expect(resolve("/arg", environment, existing: user).path, equals: "/arg")
    expect(resolve(nil, environment, existing: user).path, equals: "/env")
    expect(resolve(nil, ["XDG_RUNTIME_DIR": "/run/user/7"], existing: user).path, equals: user)
    expect(resolve(nil, ["XDG_RUNTIME_DIR": "/run/user/7"]).path, equals: "/run/credd/credd.sock")
    expect(resolve(nil, ["CREDD_SOCKET": "", "XDG_RUNTIME_DIR": ""]), equals: .system)
  }

  @Test func advisesByTheOriginOfThePath() {
    let user = "/run/user/7/credd/credd.sock"
    func message(_ socket: SocketPath) -> String { Failure(.noListener, at: socket).message }
    expect(
      message(.system),
      equals: "credd is not running (no listener at /run/credd/credd.sock): "
        + "start it with 'systemctl enable --now credd.socket'")
    expect(
      message(resolve(nil, ["XDG_RUNTIME_DIR": "/run/user/7"], existing: user))
        .hasSuffix("start it with 'systemctl --user start credd.socket'"))
    expect(message(resolve("/arg")).hasSuffix("or correct --socket or $CREDD_SOCKET"))
  }

  @Test func inAContainerTheHostsSocketIsMounted() {
    func message(_ marks: [String], _ environment: [String: String] = [:]) -> String {
      let surroundings = Surroundings(
        environment: { environment[$0] }, exists: { marks.contains($0) })
      return Failure(.noListener, at: .system, in: surroundings).message
    }
    for container in [
      message(["/run/.containerenv"]), message(["/.dockerenv"]),
      message([], ["container": "systemd-nspawn"]),
    ] {
      expect(
        container,
        equals: "credd is not running (no listener at /run/credd/credd.sock): "
          + "mount /run/credd into this container, and let credd run on its host")
    }
    expect(message([], ["container": ""]).hasSuffix("'systemctl enable --now credd.socket'"))
    // One that runs systemd, in which credd is installed.
    for folder in ["/usr/lib", "/etc"] {
      let unit = "\(folder)/systemd/system/credd.socket"
      expect(
        message([unit], ["container": "lxc"]).hasSuffix("'systemctl enable --now credd.socket'"))
    }
  }

  @Test func whereSELinuxMayRefuseItIsAskedToo() {
    func message(_ exists: Bool) -> String {
      Failure(
        .notPermitted, at: .system,
        in: Surroundings(environment: { _ in nil }, exists: { _ in exists })
      ).message
    }
    expect(message(true).hasSuffix("if SELinux refuses it, 'ausearch -m avc' says so"))
    expect(message(false).hasSuffix("ask the administrator for access to that socket"))
  }

  @Test func endsWithTheStatusOfTheError() {
    expect(Failure(.noListener, at: .system).status, equals: .unavailable)
    expect(Failure(.notPermitted, at: .system).status, equals: .notPermitted)
    expect(Failure(.replyTimedOut(seconds: 15), at: .system).status, equals: .tryAgain)
    expect(Failure(.closedEarly, at: .system).status, equals: .tryAgain)
    expect(Failure(.replyTooLong, at: .system).status, equals: .unavailable)
    expect(Failure(.pathTooLong(limit: 107), at: .system).status, equals: .usage)
  }
}
