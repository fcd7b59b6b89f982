internal import CredCore

extension MobileConfiguration {
  /// - Throws: the first thing that is wrong, with its place.
  init(_ bytes: [UInt8]) throws(ImportError) {
    let file = try ImportedObject(file: bytes)
    if file.member("auth") != nil {
      try self.init(amplify: file)
    } else if file.member("aws_cognito_identity_pool_id") != nil {
      try self.init(javaScript: file)
    } else if Self.plugInKeys.contains(where: { file.member($0) != nil }) {
      self.init(kind: .mobileSDK, pools: try Self.pools(ofPlugIn: file))
    } else {
      let names = [Kind.mobileSDK, .amplify, .amplifyOutputs].map(\.rawValue)
      throw ImportError(
        offset: 0,
        message: "neither \(names[0]), \(names[1]) nor \(names[2]): there is no \"auth\" and no "
          + "\"CredentialsProvider\"")
    }
  }

  /// The second generation writes the pools into `auth`, the first below a plug-in's name.
  private init(amplify file: ImportedObject) throws(ImportError) {
    guard let auth = try file.object("auth") else { throw Self.noPool(in: file) }
    guard let plugIns = try auth.object("plugins") else {
      kind = .amplifyOutputs
      pools = [try Self.pool(ofOutputs: auth, file)]
      return
    }
    guard let plugIn = try plugIns.object("awsCognitoAuthPlugin") else {
      throw ImportError(
        offset: plugIns.offset, message: "\"plugins\" of \"auth\" lack \"awsCognitoAuthPlugin\"")
    }
    kind = .amplify
    pools = try Self.pools(ofPlugIn: plugIn)
  }

  /// Amplify for JavaScript writes the first generation's file flat.
  private init(javaScript file: ImportedObject) throws(ImportError) {
    let id = try file.required("aws_cognito_identity_pool_id")
    let region = try file.text("aws_cognito_region")
    kind = .amplify
    pools = [
      Pool(
        id: try MobileID.identityPool(id, region: region),
        logins: try Self.logins(ofUserPool: file.text("aws_user_pools_id"), region: nil))
    ]
  }

  static func noPool(in object: ImportedObject) -> ImportError {
    let place = object.name.isEmpty ? "the file" : object.name.quoted
    return ImportError(
      offset: object.offset,
      message: "\(place) names no identity pool, and only an identity pool gives AWS credentials")
  }

  /// - Parameter id: nil gives none.
  static func logins(
    ofUserPool id: ImportedText?, region: ImportedText?
  ) throws(ImportError) -> [Login] {
    guard let id else { return [] }
    let pool = try MobileID.userPool(id, region: region)
    return [Login(provider: pool.loginsKey, title: "the user pool \(pool.id)")]
  }

  // MARK: amplify_outputs.json

  private static func pool(
    ofOutputs auth: ImportedObject, _ file: ImportedObject
  ) throws(ImportError) -> Pool {
    // The format's number is x.y; another x means another layout.
    if let version = try file.text("version"), version.text.prefix(while: { $0 != "." }) != "1" {
      throw version.error("must be 1 or 1.y: this format is not known")
    }
    guard let id = try auth.text("identity_pool_id") else { throw noPool(in: auth) }
    let region = try auth.text("aws_region")
    return Pool(
      id: try MobileID.identityPool(id, region: region),
      allowsGuests: try auth.flag("unauthenticated_identities_enabled"),
      logins: try logins(ofUserPool: auth.text("user_pool_id"), region: region))
  }
}
