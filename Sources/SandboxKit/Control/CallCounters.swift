/// What was called, how often, and how much of it at once.
struct CallCounters: Sendable {
  private(set) var calls: [ServiceCall: Int] = [:]
  private(set) var last: [ServiceCall: HTTPRequest] = [:]
  private(set) var inFlight = 0
  private(set) var maximumInFlight = 0
  private(set) var connectionsAccepted = 0
  private(set) var connectionsOpen = 0

  mutating func began(_ call: ServiceCall, _ request: HTTPRequest) {
    calls[call, default: 0] += 1
    last[call] = request
    inFlight += 1
    maximumInFlight = max(maximumInFlight, inFlight)
  }

  mutating func ended() { inFlight -= 1 }

  mutating func connectionOpened() {
    connectionsAccepted += 1
    connectionsOpen += 1
  }

  mutating func connectionClosed() { connectionsOpen -= 1 }

  /// Starts counting anew; what is under way stays so.
  mutating func reset() {
    calls = [:]
    last = [:]
    maximumInFlight = inFlight
    connectionsAccepted = 0
  }

  /// The latest request of an operation, named as `GetId` or `cognito.GetId`.
  func lastRequest(of name: String) -> HTTPRequest? {
    last.first { $0.key.name == name || $0.key.operation == name }?.value
  }

  var json: JSON {
    [
      "Calls": .object(
        Dictionary(
          calls.map { ($0.key.name, JSON.number(Double($0.value))) }, uniquingKeysWith: { $1 })),
      "InFlight": .number(Double(inFlight)), "MaximumInFlight": .number(Double(maximumInFlight)),
      "ConnectionsAccepted": .number(Double(connectionsAccepted)),
      "ConnectionsOpen": .number(Double(connectionsOpen)),
    ]
  }
}
