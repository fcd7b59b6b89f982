/// The version `credctl --version` prints.
public let credctlVersion = "0.1.0"
