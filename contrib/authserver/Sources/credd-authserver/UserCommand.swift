import ArgumentParser
import AuthCore
import AuthServer
import AuthStore
import FoundationEssentials
import Glibc

struct UserCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "user", abstract: "Accounts, and users whom hosts vouch for.",
    subcommands: [
      Add.self, List.self, Enable.self, Disable.self, Password.self, Delete.self, Devices.self,
    ])

  /// Where a password comes from: never from an argument, which every process can see.
  struct PasswordInput: ParsableArguments {
    @Flag(help: "Read the password from standard input.") var passwordStdin = false

    func read(for name: String, _ common: Common) throws -> String {
      let rules: PasswordRules
      do { rules = try PasswordFile(common.passwordLists).rules } catch {
        throw Failed(error.description, .unavailable)
      }
      let first = try line("Password: ")
      if !passwordStdin, try line("Once more: ") != first { throw Failed("the two differ", .usage) }
      if let fault = rules.fault(of: first, username: name) { throw Failed(fault, .usage) }
      return first
    }

    private func line(_ prompt: String) throws -> String {
      guard !passwordStdin else {
        guard let line = readLine() else { throw Failed("no password on standard input", .usage) }
        return line
      }
      guard isatty(0) == 1, let typed = unsafe getpass(prompt) else {
        throw Failed("no terminal to ask on: use --password-stdin", .usage)
      }
      return unsafe String(cString: typed)
    }
  }

  static func hash(_ password: String) async throws -> String {
    let hasher = try PasswordHasher(threads: 1, metrics: Metrics())
    let hash = try await hasher.hash(password)
    await hasher.close()
    return hash
  }

  /// A user by the identifier that `user list` shows. If only an account can be meant, the
  /// account's name is enough.
  static func find(
    _ text: String, _ store: AuthStore, isAccount: Bool = false
  ) async throws -> UserRecord {
    let exact = try await store.user(text)
    if let exact, !isAccount || exact.kind != .vouched { return exact }
    if let account = try? Identifier(registering: text, as: .account),
      let user = try await store.user(matching: account)
    {
      if isAccount { return user }
      throw Failed(
        "hosts vouch for no user \(text); the account is \(user.identifier): give that name "
          + "('user disable --vouched \(text)' refuses the other before it comes)")
    }
    if let exact { return exact }
    throw Failed.unknown(
      "user", text, among: try await store.users().map(\.identifier),
      hint: ": 'user list' shows them")
  }

  /// A deleted account has no password left.
  static func state(of user: UserRecord) -> String {
    guard user.isDisabled else { return "enabled" }
    return user.kind != .vouched && user.password == nil ? "deleted" : "disabled"
  }

  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make an account that signs in with a password.")
    @OptionGroup var common: Common
    @OptionGroup var input: PasswordInput
    @Argument(help: "The user's name.") var name: String

    func run() async throws {
      try await common.withStore { store, settings in
        let user = try Identifier.read(name, asAccount: settings.sharedNames)
        user.warnOfLooks()
        let hash = try await UserCommand.hash(try input.read(for: name, common))
        switch try await store.register(
          user, password: hash, invitation: nil, avoidsEnrolments: settings.sharedNames, now: .now,
          trail: common.trail("userAdded", ["user": user.text]))
        {
        case .done: break
        case .nameCovered(let host):
          throw Failed(
            "\(host) vouches for that name, or did before it was revoked, and shared_names = yes")
        case .nameTaken, .invitationUnknown:
          throw Failed(
            "there is an account of that name, or one that differs in case alone; 'user password' "
              + "and 'user enable' bring a deleted one back")
        }
        try common.say("\(user.text) may sign in", ["user": user.text])
      }
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show the users.")
    @OptionGroup var common: Common

    func run() async throws {
      try await common.withStore(.read) { store, _ in
        let rows = try await store.users().map { user -> [Cell] in
          [
            .text(user.identifier), .text(user.kind.rawValue), .text(UserCommand.state(of: user)),
            .text(user.created.iso8601),
          ]
        }
        try common.show(["user", "kind", "state", "since"], rows)
      }
    }
  }

  struct Enable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Let a disabled user in again.")
    @OptionGroup var common: Common
    @Argument(help: "The user, as 'user list' shows it.") var name: String

    func run() async throws {
      try await common.withStore { store, _ in
        let user = try await UserCommand.find(name, store)
        let trail = common.trail("userEnabled", ["user": user.identifier])
        _ = try await store.setDisabled(false, user.identifier, trail: trail)
        try common.say("\(user.identifier) is enabled", ["user": user.identifier])
      }
    }
  }

  struct Disable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Refuse a user from now on, and end the user's sign-ins.")
    @OptionGroup var common: Common
    @Flag(help: "A user whom hosts vouch for, though none has yet.") var vouched = false
    @Argument(help: "The user, as 'user list' shows it.") var name: String

    func run() async throws {
      try await common.withStore { store, _ in
        if vouched { try await store.note(vouched: Identifier.read(name), now: .now) }
        let user = try await UserCommand.find(name, store)
        let trail = common.trail("userDisabled", ["user": user.identifier])
        _ = try await store.setDisabled(true, user.identifier, trail: trail)
        try common.say(
          "\(user.identifier) is disabled; tokens at hand end by themselves",
          ["user": user.identifier])
      }
    }
  }

  struct Password: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Set an account's password, and end its sign-ins.")
    @OptionGroup var common: Common
    @OptionGroup var input: PasswordInput
    @Argument(help: "The user, as 'user list' shows it.") var name: String

    func run() async throws {
      try await common.withStore { store, settings in
        let user = try await UserCommand.find(name, store, isAccount: true)
        guard user.kind != .vouched else { throw Failed("\(user.identifier) has no password") }
        let bare = String(user.identifier.drop { $0 != ":" }.dropFirst())
        let password = try input.read(for: bare.isEmpty ? user.identifier : bare, common)
        let kept: String
        if user.kind == .sample {
          guard let sample = settings.sample else {
            throw Failed("there is no [sample] in \(common.config)")
          }
          kept = SampleProtocol(appName: sample.appName, host: sample.hostName)
            .salted(username: bare, password: password)
        } else {
          kept = try await UserCommand.hash(password)
        }
        let trail = common.trail("passwordSet", ["user": user.identifier])
        _ = try await store.setPassword(kept, of: user.identifier, trail: trail)
        try common.say("the password is set", ["user": user.identifier])
      }
    }
  }

  struct Delete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Refuse a user for good, forget its password and devices; the name stays taken.",
      discussion: """
        Cognito's identity and the audit stay. Who registers a freed name comes into the identity \
        that Cognito has for it: run 'link remove NAME' first. 'user enable NAME' brings a user back \
        for whom hosts vouch; an account needs a new password too.
        """)
    @OptionGroup var common: Common
    @Flag(help: "The name may be registered again.") var free = false
    @Argument(help: "The user, as 'user list' shows it.") var name: String

    func run() async throws {
      try await common.withStore { store, _ in
        let user = try await UserCommand.find(name, store)
        let members = ["user": user.identifier, "freed": String(free)]
        let trail = common.trail("userDeleted", members)
        _ = try await store.delete(user: user.identifier, freesName: free, trail: trail)
        try common.say(
          "\(user.identifier) is deleted"
            + (free ? ", and its name is free" : "; its name stays taken"),
          ["user": .text(user.identifier), "freed": .flag(free)])
      }
    }
  }

  struct Devices: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show the devices of a user of the sample protocol, or revoke one.")
    @OptionGroup var common: Common
    @Argument(help: "The user, as 'user list' shows it.") var name: String
    @Option(help: "The device whose key is revoked.") var revoke: String?

    func run() async throws {
      try await common.withStore(revoke == nil ? .read : .change) { store, _ in
        let user = try await UserCommand.find(name, store, isAccount: true)
        let devices = try await store.devices(of: user.identifier)
        guard let uid = revoke else {
          return try common.show(
            ["device", "state", "since"],
            devices.map {
              [.text($0.uid), $0.isRevoked ? "revoked" : "good", .text($0.created.iso8601)]
            })
        }
        let members = ["user": user.identifier, "device": uid]
        guard devices.contains(where: { $0.uid == uid }),
          try await store.revoke(device: uid, trail: common.trail("deviceRevoked", members))
        else { throw Failed("\(user.identifier) has no device \(uid)") }
        try common.say("the key of \(uid) is revoked", members)
      }
    }
  }
}
