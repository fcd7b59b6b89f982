import CredCore
import CredService

/// In a quarter of the histories some clients come over a socket with a cap. It follows from the seed,
/// so that the others mean what they meant.
extension History {
  static let cappedSocket = ClientSocket(
    path: UnixSocketPath("/run/credd-agents/sock"), name: ClientSocket.nameOfCapped)

  /// The profile that the socket has, an index; nil in a history without one.
  static func capped(_ seed: UInt64) -> Int? { seed % 4 == 3 ? Int(seed / 4 % 3) : nil }

  /// Whether the client of that number comes over it.
  static func isCapped(_ client: Int, _ seed: UInt64) -> Bool {
    capped(seed) != nil && (5..<8).contains(client)
  }
}

extension HistoryConfiguration {
  static let cappedOperations = ["get", "identity", "ping", "watch", "token"]

  /// The profile that the section names. In some configurations there is no section.
  var cap: String? {
    guard let name = cappedProfile.map({ "p\($0)" }), let profile = profile(name),
      profile.identifier != .both
    else { return nil }
    return name
  }

  var capSection: String {
    guard let cap else { return "" }
    return "[socket \(History.cappedSocket.path)]\nprofiles = \(cap)\n"
      + "operations = \(Self.cappedOperations.joined(separator: " "))\n"
  }
}

/// Judges what comes over the socket with a cap: nothing of the rest is there.
extension HistoryRun {
  /// Whether the section has what a line asks for.
  func isBehindDoor(_ line: HistoryClient.Line?, _ client: HistoryClient, _ profile: String) -> Bool
  {
    guard client.isCapped else { return true }
    if case .impersonate? = line?.request { return false }
    let operation = line.map(\.request.operation) ?? "watch"
    return host.configuration.cap == profile
      && HistoryConfiguration.cappedOperations.contains(operation)
  }

  func judgeCap(
    _ reply: [UInt8], _ code: String?, _ line: HistoryClient.Line?, _ client: HistoryClient
  ) {
    guard client.isCapped else { return }
    let own = [line?.profile, host.configuration.cap]
    let text = String(decoding: reply, as: UTF8.self)
    for profile in 0..<3 where !own.contains("p\(profile)") && lastReload < world.now {
      for quote in ["\"", "'"] where text.contains("\(quote)p\(profile)\(quote)") {
        world.violate(.admitted, "\(client.name) has a cap, and is told of p\(profile): \(text)")
      }
    }
    guard code == nil, let line else { return }
    let isThere =
      switch line.request {
      case .ping, .watch(profile: nil): host.configuration.cap != nil
      default: line.profile.map { isBehindDoor(line, client, $0) } ?? false
      }
    // A reload may have come after the answer was due.
    guard !isThere, lastReload < line.start else { return }
    world.violate(.admitted, "\(client.name) has a cap, and got an answer to line \(line.number)")
  }
}
