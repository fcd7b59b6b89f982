import CredCore

/// What user pools know of their users beside passwords: devices, which take the place of a code, and
/// authenticator apps.
struct HistoryFactors {
  struct Device {
    let user: HistoryUserPools.User
    /// The salt and verifier of its password; nil before ConfirmDevice.
    var verifier: (salt: [UInt8], value: Secret)?
    /// A sign-in with it is asked for no code.
    var isRemembered = false
  }

  /// An authenticator app that is being set up.
  struct App {
    let user: HistoryUserPools.User
    /// The number of the code that it shows.
    let code: Int
  }

  /// By the number in their keys.
  var devices: [Int: Device] = [:]
  /// The device of each sign-in, by the number of its family.
  var deviceOfFamily: [Int: Int] = [:]
  /// By the number of the secret.
  var apps: [Int: App] = [:]
  /// Users with an authenticator app.
  var usersWithApp: Set<HistoryUserPools.User> = []
  /// Sessions of set-ups that were replaced by another.
  var replacedSessions: Set<Int> = []

  static func key(of device: Int) -> String { "us-east-1_\(device)" }
  static func group(of device: Int) -> String { "-group-\(device)" }

  static func device(withKey value: JSONValue?) -> Int? {
    value?.text.flatMap { $0.split(separator: "_").last }.flatMap { Int($0) }
  }

  /// In base32, as far as credd can tell.
  static func secret(of app: Int) -> String { "\(HistorySecret.app)\(app)" }

  static func code(of app: App) -> String { HistorySecret.text(app.code) }
}

// MARK: Devices

extension HistoryUserPools {
  /// Whether a pool keeps devices. A pool is what its server's name makes it.
  private static func keepsDevices(_ server: String) -> Bool {
    server.utf8.reduce(0) { $0 &+ Int($1) } % 3 != 0
  }

  /// Whether a pool remembers devices though the user does not say so.
  private static func remembersUnasked(_ server: String) -> Bool {
    server.utf8.reduce(0) { $0 &+ Int($1) } % 2 == 0
  }

  /// Why a sign-in cannot go on with the device that it names; nil if it can, or names none.
  ///
  /// - Parameter mayForget: whether the pool may have forgotten it by now.
  func refusal(
    ofDeviceIn parameters: JSONValue?, for user: User, mayForget: Bool = false
  ) -> HTTPReply? {
    guard let number = HistoryFactors.device(withKey: parameters?["DEVICE_KEY"]) else {
      return nil
    }
    if let device = factors.devices[number], device.user != user {
      world.violate(
        device.user.server == user.server ? .neverForeign : .staysWithIssuer,
        "the device of \(device.user) is named in a sign-in of \(user)")
    }
    if mayForget, world.random.happens(0.2) { forgetDevice(number) }
    guard factors.devices[number] == nil else { return nil }
    return world.random.happens(0.5)
      ? .userPool("ResourceNotFoundException", "Device does not exist.")
      : .userPool("NotAuthorizedException", "Invalid device key given.")
  }

  /// The device that a sign-in names, if it takes the place of a code.
  func rememberedDevice(in parameters: JSONValue?) -> Int? {
    HistoryFactors.device(withKey: parameters?["DEVICE_KEY"]).flatMap {
      factors.devices[$0]?.isRemembered == true ? $0 : nil
    }
  }

  /// The device of a new sign-in, and the member of its reply that names a new one.
  func device(
    ofFamily family: Int, _ user: User, named device: Int?
  ) -> String {
    guard Self.keepsDevices(user.server) else { return "" }
    let number = device ?? upstreams.nextNumber()
    factors.deviceOfFamily[family] = number
    guard device == nil else { return "" }
    factors.devices[number] = HistoryFactors.Device(user: user)
    return #","NewDeviceMetadata":{"DeviceKey":"\#(HistoryFactors.key(of: number))","#
      + #""DeviceGroupKey":"\#(HistoryFactors.group(of: number))"}"#
  }

  /// A proof by which a device takes the place of a code; nil for one that is not confirmed.
  func deviceProof(_ number: Int, publicValue: String) -> HistoryProof? {
    factors.devices[number]?.verifier.map {
      HistoryProof(publicValue: publicValue, salt: $0.salt, &world.random)
    }
  }

  /// Whether a device has proved that it is the one. The daemon forgets no password of a device, so
  /// a wrong proof is a fault of its own.
  func isProved(_ number: Int, _ proof: HistoryProof, by answers: JSONValue?) -> Bool {
    guard let verifier = factors.devices[number]?.verifier?.value else { return false }
    let expected = proof.signature(
      group: HistoryFactors.group(of: number), name: HistoryFactors.key(of: number),
      verifier: verifier, timestamp: answers?["TIMESTAMP"]?.text ?? "")
    let isRight = answers?["PASSWORD_CLAIM_SIGNATURE"]?.text == expected
    if !isRight {
      world.violate(.neverDropped, "the password of device \(number) is wrong")
    }
    return isRight
  }

  /// A pool renews the tokens of a confirmed device only with its key.
  func mayRenew(_ given: Given, with key: JSONValue?) -> Bool {
    guard let number = factors.deviceOfFamily[given.family],
      factors.devices[number]?.verifier != nil, HistoryFactors.device(withKey: key) != number
    else { return true }
    world.violate(
      .neverDropped,
      "the tokens of \(given.user) are to be renewed without device \(number), which ends them")
    return false
  }

  /// Whether the pool asks for no code in the next sign-in with the device of the latest one.
  func remembersDevice(ofLatestSignInOf user: User) -> Bool {
    let family = families.filter { $0.value.user == user }.keys.max()
    let device = family.flatMap { factors.deviceOfFamily[$0] }.flatMap { factors.devices[$0] }
    return device.map { $0.isRemembered && $0.verifier != nil } ?? false
  }

  /// The requests about a device, by a signed-in user; nil for another operation.
  func ownDevice(_ operation: String, _ body: JSONValue?, _ user: User) -> HTTPReply? {
    guard ["ConfirmDevice", "UpdateDeviceStatus", "ForgetDevice"].contains(operation) else {
      return nil
    }
    guard let number = HistoryFactors.device(withKey: body?["DeviceKey"]),
      let device = factors.devices[number], device.user == user
    else { return .userPool("ResourceNotFoundException", "Device does not exist.") }
    switch operation {
    case "ConfirmDevice": return confirm(number, body?["DeviceSecretVerifierConfig"])
    case "UpdateDeviceStatus":
      factors.devices[number]?.isRemembered =
        body?["DeviceRememberedStatus"]?.text == "remembered"
    default: forgetDevice(number)
    }
    return .plain(200, "{}")
  }

  private func confirm(_ number: Int, _ config: JSONValue?) -> HTTPReply {
    guard let device = factors.devices[number], device.verifier == nil else {
      return .userPool("DeviceKeyExistsException", "Device already exists.")
    }
    let salt = Self.bytes(ofBase64: config?["Salt"])
    let value = SRPInteger(Self.bytes(ofBase64: config?["PasswordVerifier"]))
    let count = SRPGroup.byteCount - value.magnitude.count
    guard !salt.isEmpty, !value.isZero, count >= 0 else {
      return .userPool("InvalidParameterException", "Invalid verifier.")
    }
    let isRemembered = Self.remembersUnasked(device.user.server)
    factors.devices[number]?.verifier = (
      salt, Secret(Array(repeating: 0, count: count) + value.magnitude.bytes)
    )
    factors.devices[number]?.isRemembered = isRemembered
    return .plain(200, #"{"UserConfirmationNecessary":\#(!isRemembered)}"#)
  }

  private func forgetDevice(_ number: Int) {
    guard let device = factors.devices.removeValue(forKey: number) else { return }
    deviceForgotten(device.user)
  }

  private static func bytes(ofBase64 value: JSONValue?) -> [UInt8] {
    value?.text.flatMap { Base64.decode($0.utf8, .standard) } ?? []
  }
}

// MARK: Authenticator apps

extension HistoryUserPools {
  /// AssociateSoftwareToken and VerifySoftwareToken of a sign-in. Each gives another Session.
  func setUpApp(_ operation: String, _ body: JSONValue?) -> HTTPReply {
    if let number = body?["Session"].flatMap(number), factors.replacedSessions.contains(number) {
      world.violate(
        .usedOnce, "the Session \(number) is used again after it was replaced")
    }
    guard let number = body?["Session"].flatMap(number), var signIn = signIns[number],
      case .appSetup(let app, _)? = signIn.questions.first, signIn.ends > world.now
    else { return .userPool("NotAuthorizedException", "Invalid session for the user.") }
    if operation == "AssociateSoftwareToken" {
      let secret = upstreams.nextNumber()
      factors.apps[secret] = HistoryFactors.App(user: signIn.user, code: upstreams.nextNumber())
      signIn.questions[0] = .appSetup(secret, isVerified: false)
      let session = renew(&signIn)
      return .plain(
        200, #"{"SecretCode":"\#(HistoryFactors.secret(of: secret))","Session":"\#(session)"}"#)
    }
    guard let app, let known = factors.apps[app],
      body?["UserCode"]?.text == HistoryFactors.code(of: known)
    else { return .userPool("EnableSoftwareTokenMFAException", "Code mismatch") }
    signIn.questions[0] = .appSetup(app, isVerified: true)
    return .plain(200, #"{"Status":"SUCCESS","Session":"\#(renew(&signIn))"}"#)
  }

  /// The sign-in goes on under another Session.
  private func renew(_ signIn: inout SignIn) -> String {
    signIns[signIn.session] = nil
    factors.replacedSessions.insert(signIn.session)
    signIn.session = add(.session, signIn.user, 0, lifetime: 180)
    signIn.ends = world.now + Self.answerTime
    signIns[signIn.session] = signIn
    latest[signIn.user] = signIn.session
    return Self.text(ofSession: signIn.session)
  }

  /// The user says that the app is set up.
  func appIsSetUp(_ user: User, isVerified: Bool) -> HTTPReply? {
    guard isVerified else {
      world.violate(.neverForeign, "an app of \(user) is set up without its code")
      return .userPool("NotAuthorizedException", "Invalid session for the user.")
    }
    factors.usersWithApp.insert(user)
    return nil
  }
}
