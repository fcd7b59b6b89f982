internal import CredCore

/// `awsconfiguration.json`, which Amplify's first generation took over as the configuration of its
/// plug-in `awsCognitoAuthPlugin`.
extension MobileConfiguration {
  static let plugInKeys = ["CredentialsProvider", "CognitoUserPool", "IdentityManager"]

  /// Providers that apps signed in with by themselves, and their keys in the logins map (Cognito
  /// developer guide, "External identity providers").
  private static let social: [(key: String, login: Login)] = [
    ("FacebookSignIn", Login(provider: "graph.facebook.com", title: "Facebook")),
    ("GoogleSignIn", Login(provider: "accounts.google.com", title: "Google")),
    ("AmazonSignIn", Login(provider: "www.amazon.com", title: "Amazon")),
    ("AppleSignIn", Login(provider: "appleid.apple.com", title: "Apple")),
  ]

  static func pools(ofPlugIn plugIn: ImportedObject) throws(ImportError) -> [Pool] {
    guard let provider = try plugIn.object("CredentialsProvider") else {
      throw noPool(in: plugIn)
    }
    guard let identities = try provider.object("CognitoIdentity"), !identities.members.isEmpty
    else { throw noPool(in: provider) }
    guard identities.members.count <= ImportLimits.pools else {
      throw ImportError(
        offset: identities.offset, message: "more than \(ImportLimits.pools) identity pools")
    }
    let userPools = try userPools(plugIn)
    let social = social.filter { plugIn.member($0.key) != nil }.map(\.login)
    var pools: [Pool] = []
    for member in identities.members {
      let entry = try ImportedObject(member)
      let id = try MobileID.identityPool(
        entry.required("PoolId"), region: entry.text("Region"))
      // An app pairs the two kinds of pools by their names.
      let paired = userPools.filter { $0.name == member.key }
      let users = (paired.isEmpty ? userPools : paired).map(\.login)
      pools.append(Pool(name: member.key, id: id, logins: users.unique + social))
    }
    return pools
  }

  private static func userPools(
    _ plugIn: ImportedObject
  ) throws(ImportError) -> [(name: String, login: Login)] {
    var pools: [(name: String, login: Login)] = []
    for member in try plugIn.object("CognitoUserPool")?.members ?? [] {
      let entry = try ImportedObject(member)
      let logins = try logins(ofUserPool: entry.required("PoolId"), region: entry.text("Region"))
      pools += logins.map { (member.key, $0) }
    }
    return pools
  }
}

extension [MobileConfiguration.Login] {
  /// Several app clients of one user pool are one login.
  fileprivate var unique: Self {
    reduce(into: []) { logins, login in
      if !logins.contains(login) { logins.append(login) }
    }
  }
}
