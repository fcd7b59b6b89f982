/// The pools that a mobile app's configuration file names.
struct MobileConfiguration: Equatable {
  /// Which file it is; told by its content, since people rename files.
  enum Kind: String {
    /// Of the AWS mobile SDKs and AWSMobileClient.
    case mobileSDK = "awsconfiguration.json"
    /// Of Amplify's first generation.
    case amplify = "amplifyconfiguration.json"
    /// Of Amplify's second generation.
    case amplifyOutputs = "amplify_outputs.json"
  }

  struct Pool: Equatable {
    /// What the file calls it; nil where it has no name.
    var name: String?
    /// `REGION:UUID`, well-formed.
    var id: String
    /// Nil where the file does not say.
    var allowsGuests: Bool?
    /// What its users can sign in with.
    var logins: [Login] = []
  }

  /// A provider of the logins map.
  struct Login: Equatable {
    /// Its key there.
    var provider: String
    /// What people call it.
    var title: String
  }

  var kind: Kind
  /// At least one.
  var pools: [Pool]
}
