import CLinux
import CredCore
import CredctlKit
import Glibc

/// Runs a command that gets its credentials from an endpoint and renews them itself.
struct Renewal {
  let options: GetOptions
  /// The address for credctl's own endpoint; nil to use the host's endpoint, if it can be reached.
  var address: EndpointAddress?
  /// Whether only the token is checked.
  var trustsToken = false

  /// Serves in this process, and prints the variables that lead there. Never returns; throws on
  /// failure.
  func serve() throws(Failure) -> Never {
    let client = Client(socketArgument: options.socket)
    let endpoint = try LocalEndpoint(
      options.named, at: address ?? EndpointAddress(port: 0), asking: client,
      tokenOnly: trustsToken)
    warnOfConfig()
    let variables = try CredentialVariables(
      url: endpoint.door.address.url(ofProfile: options.profile), token: endpoint.door.token,
      region: client.region(for: options), leavesOutConfig: options.leavesOutConfig,
      environment: Environment.value(of:))
    var text = try VariableFormat.sh.text(of: variables)
    try StandardStream.output.write(text[...])
    text.wipe()
    endpoint.serve()
  }

  /// Warns of sources that SDKs may prefer to the endpoint.
  func warnOfConfig() {
    guard !options.leavesOutConfig,
      let path = SharedConfiguration.path(environment: Environment.value(of:)),
      let text = SmallFile.read(path), let source = SharedConfiguration.source(in: text)
    else { return }
    StandardStream.error.report(
      "credctl: " + SharedConfiguration.warning(of: source, in: path) + "\n")
  }

  /// Becomes the command. Returns only if that fails.
  func failure(becoming command: [String]) throws(Failure) -> Failure {
    // The command is not started if it would get no credentials.
    let client = Client(socketArgument: options.socket)
    var asked = options
    // Credentials that are renewed may be near their end.
    asked.waiting.minimumLifetime = nil
    let (_, identity) = try client.askForBoth(asked)
    let region = identity.flatMap(CredentialVariables.region(ofIdentity:))
    let environment = Environment.value(of:)
    warnOfConfig()
    let variables: CredentialVariables
    if address == nil, let reply = hostEndpoint(client) {
      variables = try CredentialVariables(
        endpoint: reply, region: region, leavesOutConfig: options.leavesOutConfig,
        environment: environment)
    } else {
      let door = try open(client)
      variables = try CredentialVariables(
        url: door.address.url(ofProfile: options.profile), token: door.token, region: region,
        leavesOutConfig: options.leavesOutConfig, environment: environment)
    }
    return Replacement.failure(
      becoming: command, environment: variables.merged(into: Environment.entries))
  }

  /// The host's endpoint, if it listens in the network namespace of this process. credctl does not
  /// just try the address, because in another namespace another program may listen there.
  private func hostEndpoint(_ client: Client) -> JSONValue? {
    guard
      let answer = try? client.ask(
        RequestLine(operation: "endpoint", profile: options.named).finished(), for: .endpoint,
        profile: options.profile),
      let theirs = answer.reply["NetworkNamespace"]?.integer
    else { return nil }
    var own: UInt64 = 0
    let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { credd_close(probe) }
    guard probe >= 0, unsafe credd_network_namespace(probe, &own) == 0,
      Int64(exactly: own) == theirs
    else { return nil }
    return answer.reply
  }

  /// Opens an endpoint in a second process of credctl, which ends with this process. The command
  /// inherits the listener, so that no other program can take the port while the command runs.
  ///
  /// The second process is no child of the command, which may wait for all of its children.
  private func open(_ client: Client) throws(Failure) -> LocalEndpoint.Door {
    let endpoint = try LocalEndpoint(
      options.named, at: address ?? EndpointAddress(port: 0), asking: client,
      tokenOnly: trustsToken)
    let command = getpid()
    let commandsEnd = credd_pidfd_open(command)
    defer { if commandsEnd >= 0 { credd_close(commandsEnd) } }
    let (listener, table) = (endpoint.door.listener, endpoint.table)
    // Without a pidfd (Linux before 5.3) only a child learns of its parent's end.
    switch commandsEnd >= 0 ? credd_fork_apart(listener, table, commandsEnd) : credd_fork() {
    case 0:
      if commandsEnd < 0 {
        if credd_end_with(command) < 0 { _exit(1) }
        credd_stand_apart(listener, table, -1)
      } else if credd_end_when_readable(commandsEnd) < 0 {
        _exit(1)
      }
      endpoint.serve()
    case ..<0: throw Failure(.unavailable, "cannot start a process for the endpoint")
    default:
      _ = credd_keep_open(endpoint.door.listener)
      return endpoint.door
    }
  }
}

/// Reads a small file of a user completely.
enum SmallFile {
  private static let most = 256 << 10

  /// Nil if the file cannot be read or is too long.
  static func read(_ path: String) -> [UInt8]? {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return nil }
    defer { credd_close(file) }
    var bytes = [UInt8](repeating: 0, count: most)
    let count = unsafe credd_read_at(file, &bytes, most, 0)
    guard count >= 0, count < most else { return nil }
    return Array(bytes.prefix(count))
  }
}
