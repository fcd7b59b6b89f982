import CLinux
import CredCore
import CredLoopback
import CredService
import Foundation
import Glibc
import Logging
import TestSupport
import Testing

@testable import CredRuntime

/// What this kernel says of connections over loopback.
struct KernelAttestationTests {
  /// A listener on loopback with a connection to it, both ends in this process.
  fileprivate final class Connection {
    let listener: Int32
    private(set) var client: Int32
    let server: Int32

    init() throws {
      var name = credd_tcp_name()
      name.ipv4 = (127, 0, 0, 1)
      listener = unsafe try SystemError.check(credd_listen_loopback(&name, 8), "listen")
      client = unsafe try SystemError.check(credd_connect_loopback(&name), "connect")
      server = try SystemError.check(credd_accept(listener), "accept")
    }

    deinit {
      closeClient()
      credd_close(server)
      credd_close(listener)
    }

    func closeClient() {
      if client >= 0 { credd_close(client) }
      client = -1
    }

    func resetByClient() throws {
      var option = Glibc.linger(l_onoff: 1, l_linger: 0)
      let result = unsafe setsockopt(
        client, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<Glibc.linger>.size))
      try #require(result == 0)
      closeClient()
    }
  }

  private func attest(_ connection: Int32) throws -> Result<UInt32, AttestationFailure> {
    try KernelAttestation().attest(connection).map(\.uid)
  }

  @Test func anOpenConnectionBelongsToItsMaker() throws {
    let connection = try Connection()
    expect(try attest(connection.server), equals: .success(geteuid()))
  }

  @Test func aClientThatHasLeftIsNobody() throws {
    let connection = try Connection()
    connection.closeClient()
    guard case .failure(let failure) = try attest(connection.server) else {
      Issue.record("attested")
      return
    }
    expect([.closed, .unknown, .notEstablished, .ownEndClosed].contains(failure))
  }

  @Test func aClientThatResetItsConnectionIsNobody() throws {
    let connection = try Connection()
    try connection.resetByClient()
    guard case .failure(let failure) = try attest(connection.server) else {
      Issue.record("attested")
      return
    }
    expect([.unknown, .ownEndClosed].contains(failure))
  }

  @Test func aClientThatEndedItsSideIsRefused() throws {
    let connection = try Connection()
    credd_finish_sending(connection.client)
    expect(try attest(connection.server), equals: .failure(.notEstablished))
  }

  @Test func theListenerIsNoClient() throws {
    let connection = try Connection()
    guard case .failure = try attest(connection.listener) else {
      Issue.record("attested")
      return
    }
  }

  @Test func aSocketIsAskedManyQuestionsAndAnswersEach() throws {
    let attestation = try KernelAttestation()
    try attestation.test()
    for _ in 0..<100 {
      let connection = try Connection()
      expect(attestation.attest(connection.server).map(\.uid), equals: .success(geteuid()))
    }
  }

  @Test func anAnswerToAnEarlierQuestionIsNotTaken() throws {
    let netlink = try SystemError.check(credd_diag_socket(), "open a netlink socket")
    let connection = try Connection()
    // An answer that nobody reads.
    var report = credd_socket_report()
    _ = unsafe credd_ask_other_end(netlink, 77, connection.server, &report)
    let attestation = try KernelAttestation(netlink)
    expect(attestation.attest(connection.server).map(\.uid), equals: .success(geteuid()))
  }

  @Test func onlyAListenerOnLoopbackIsTheEndpoints() throws {
    let connection = try Connection()
    var name = credd_tcp_name()
    expect(unsafe credd_is_loopback_listener(connection.listener, &name), equals: 1)
    expect(EndpointAddress(name).literal, equals: "127.0.0.1")
    expect(unsafe credd_is_loopback_listener(connection.server, &name), equals: 0)
    let everywhere = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { credd_close(everywhere) }
    try #require(listen(everywhere, 1) == 0)
    expect(unsafe credd_is_loopback_listener(everywhere, &name), equals: 0)
    expect(credd_is_diag_socket(everywhere), equals: 0)
  }
}

/// The host's control groups, as they are here.
struct SystemControlGroupsTests {
  /// Nil without cgroup2, and where the group is outside this namespace.
  private static let ownGroup: (id: UInt64, path: String)? = {
    guard let id = try? KernelAttestationTests.ownControlGroup(),
      case .found(let path) = SystemControlGroups().path(ofControlGroup: id)
    else { return nil }
    return (id, path)
  }()

  @Test(.enabled(if: ownGroup != nil, "this kernel shows no control group of a connection here"))
  func theGroupOfAConnectionIsFound() throws {
    let groups = SystemControlGroups()
    let (id, path) = try #require(Self.ownGroup)
    expect(groups.isThere(path, id))
    expect(!groups.isThere(path, id &+ 1))
    expect(!groups.isThere(path + "x", id))
  }

  /// Folders in place of control groups. tmpfs lists what is newer first, so a walk meets that first.
  private final class Groups {
    let root = "/dev/shm/credd-groups-\(getpid())-\(UInt32.random(in: 0...(.max)))"

    deinit { try? FileManager.default.removeItem(atPath: root) }

    @discardableResult
    func make(_ path: String) throws -> UInt64 {
      let whole = root + path
      try FileManager.default.createDirectory(atPath: whole, withIntermediateDirectories: true)
      var inode: UInt64 = 0
      try #require(unsafe credd_inode(whole, &inode) == 0)
      return inode
    }

    /// As systemd does for a user's own manager, and for units with `Delegate=` and a user.
    func delegate(_ path: String) throws {
      try #require(unsafe chown(root + path, 1000, 1000) == 0)
    }

    func path(of id: UInt64) -> String? { SystemControlGroupsTests.path(of: id, below: root) }
  }

  @Test(.enabled(if: geteuid() == 0, "takes root"))
  func aUsersGroupsHideNobodyElses() throws {
    let groups = Groups()
    let billing = try groups.make("/system.slice/billing.service")
    let worker = try groups.make("/system.slice/app.service/worker")
    try groups.delegate("/system.slice/app.service")
    for user in ["/zzz", "/system.slice/zzz", "/aaa"] {
      try groups.make(user + String(repeating: "/x", count: 200))
      try groups.delegate(user)
    }
    expect(groups.path(of: billing), equals: "/system.slice/billing.service")
    expect(groups.path(of: worker), equals: "/system.slice/app.service/worker")
    expect(groups.path(of: UInt64.max - 7) == nil)
  }

  @Test(.enabled(if: geteuid() == 0, "takes root"))
  func aUsersManyGroupsAreNotAllWalkedThrough() throws {
    let groups = Groups()
    let worker = try groups.make("/app.service/worker")
    try groups.delegate("/app.service")
    let last = try groups.make("/user/last")
    for number in 0..<4096 { try groups.make("/user/\(number)") }
    try groups.delegate("/user")
    expect(groups.path(of: last) == nil)
    expect(groups.path(of: worker), equals: "/app.service/worker")
  }

  private static func path(of id: UInt64, below root: String) -> String? {
    var path = [CChar](repeating: 0, count: 4096)
    guard unsafe credd_control_group_path(root, id, &path, path.count) == 1 else { return nil }
    return String(decoding: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  @Test func aGroupThatIsNotThereIsNotFound() {
    expect(SystemControlGroups().path(ofControlGroup: UInt64.max - 7), equals: .missing)
    expect(SystemControlGroups(root: nil).path(ofControlGroup: 7), equals: .missing)
  }

  @Test func aWalkThatFailsIsNoAnswer() {
    let groups = SystemControlGroups(root: "/nowhere")
    expect(groups.path(ofControlGroup: 7), equals: .failed)
  }
}

extension KernelAttestationTests {
  /// What the kernel says of this process.
  static func ownControlGroup() throws -> UInt64? {
    let connection = try Connection()
    return try KernelAttestation().attest(connection.server).get().controlGroup
  }
}

struct TokenKeyFileTests {
  /// In memory.
  private final class Folder {
    let path = "/dev/shm/credd-key-\(getpid())-\(UInt32.random(in: 0...(.max)))"

    init() throws { try #require(unsafe mkdir(path, 0o700) == 0) }

    deinit {
      for name in ["token-key", "token-key.new"] { unsafe unlink("\(path)/\(name)") }
      unsafe rmdir(path)
    }
  }

  @Test func aKeyIsMadeOnceAndKept() throws {
    let folder = try Folder()
    let key = try TokenKeyFile.take(in: folder.path)
    expect(key.count, equals: TokenKey.bytes)
    expect(try TokenKeyFile.take(in: folder.path), equals: key)
    var status = stat()
    try #require(unsafe lstat("\(folder.path)/token-key", &status) == 0)
    expect(status.st_mode & 0o777 == 0o600 && status.st_nlink == 1)
    expect(unsafe access("\(folder.path)/token-key.new", F_OK) != 0)
  }

  @Test func whoRemovesItGetsAnother() throws {
    let folder = try Folder()
    let key = try TokenKeyFile.take(in: folder.path)
    unsafe unlink("\(folder.path)/token-key")
    expect(try TokenKeyFile.take(in: folder.path) != key)
  }

  @Test func aFileOfAnotherLengthIsNotUsed() throws {
    let folder = try Folder()
    _ = try TokenKeyFile.take(in: folder.path)
    unsafe truncate("\(folder.path)/token-key", 31)
    #expect(throws: SystemError.self) { try TokenKeyFile.take(in: folder.path) }
  }

  @Test func aFileThatOthersMayReadIsNotUsed() throws {
    let folder = try Folder()
    _ = try TokenKeyFile.take(in: folder.path)
    unsafe chmod("\(folder.path)/token-key", 0o644)
    #expect(throws: SystemError.self) { try TokenKeyFile.take(in: folder.path) }
  }

  @Test func noKeyIsWrittenToADisk() throws {
    #expect(throws: SystemError.self) { try TokenKeyFile.take(in: "/usr") }
  }

  private final class NoCrypto: CryptoLoading {
    func load(completion: @escaping ((any Crypto)?) -> Void) { completion(nil) }
  }

  @Test func whatGivesTokensShowsNoKey() {
    let source = TokenServer.Source(
      key: Secret("Kq7vXw2nTz9bRd4m"), crypto: NoCrypto(), overflowUID: 65534,
      log: Logger(label: "test"))
    var dumped = ""
    dump(source, to: &dumped)
    for output in ["\(source)", String(reflecting: source), dumped] {
      expect(!output.contains("Kq7v") && !output.contains("75, 113, 55"))
    }
  }
}
