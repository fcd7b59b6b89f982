import ArgumentParser
import CredctlKit

/// A verb that hands credentials to something that keeps them until they expire.
protocol KeptCredentialsVerb: Verb {
  var selection: ProfileOption { get }
  var demands: KeptCredentialsOptions { get }
}

extension KeptCredentialsVerb {
  func credentialVariables() throws(Failure) -> CredentialVariables {
    let options = GetOptions(
      socket: connection.socket ?? program.socket, profile: selection.profile,
      keeping: try Patience(minimumLifetime: demands.minTtl, wait: demands.wait),
      refresh: demands.refresh)
    do {
      return try CredentialVariables(Program.credentials(options).reply)
    } catch {
      throw error.advisingShorterLifetime
    }
  }
}
