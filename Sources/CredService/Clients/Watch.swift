import CredCore

/// The events that a client watches.
struct Watch {
  enum Scope {
    case all
    case profile(String)
  }

  let scope: Scope
  /// The person who watches. The watch brings no events of another person who gets the uid later.
  let owner: SessionOwner
  /// With the scope `all`: the profiles that the caller may use. It brings events of no others.
  var visible: Set<String> = []
  /// The server repeats this id in every line.
  let id: RequestID?
  /// How long the decision to let the client watch is valid.
  var allowedUntil = Instant.distantFuture
  /// Whether the access rules have changed since: see ``WaitingRequest/isUndecided``.
  var isUndecided = false
  /// Events that came after ``allowedUntil``. The client gets them if it may continue to watch.
  private(set) var held: [(profile: String, event: SessionEvent)] = []
  /// Profiles with more events than can be held: the present state takes the place of all of their
  /// events.
  private(set) var missed: Set<String> = []

  init(_ scope: Scope, of owner: SessionOwner, id: RequestID?) {
    self.scope = scope
    self.owner = owner
    self.id = id
  }

  func covers(_ name: String) -> Bool {
    switch scope {
    case .all: visible.contains(name)
    case .profile(let profile): profile == name
    }
  }

  var holdsAny: Bool { !held.isEmpty || !missed.isEmpty }

  mutating func hold(_ event: SessionEvent, _ profile: String) {
    if held.count < Limits.Client.heldEvents, !missed.contains(profile) {
      held.append((profile, event))
    } else {
      missed.insert(profile)
      held.removeAll { $0.profile == profile }
    }
  }

  mutating func dropHeld() {
    held = []
    missed = []
  }

  /// Whether the watcher is the session's owner. A uid that has lost its name is not the owner.
  func isOf(_ owner: SessionOwner) -> Bool {
    switch owner.successor(self.owner) {
    case .samePerson, .firstSeen: true
    case .anotherPerson, .nameless: false
    }
  }
}
