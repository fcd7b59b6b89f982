import TestSupport
import Testing

@testable import CredCore

/// OperationNotEnabledException: not in this region, or not with the pool's present settings.
struct OperationNotEnabledTests {
  private func failure(_ purpose: UserPoolPurpose) -> UpstreamFailure {
    .ofPool(purpose, "OperationNotEnabledException", "not available in the current region")
  }

  @Test(arguments: [UserPoolPurpose.signIn, .renewal, .signOut])
  func isTemporaryAtSignInsRenewalsAndSignOuts(purpose: UserPoolPurpose) {
    let failure = failure(purpose)
    expect(failure.failureClass, equals: .transient(retryAfter: .seconds(60)))
    expect(failure.code, equals: .backendUnavailable)
    expect(failure.protocolError.retryAfter, equals: .seconds(60))
    expect(failure.reason, equals: "OperationNotEnabledException")
  }

  @Test(arguments: [
    UserPoolPurpose.newAccount, .codeRequest, .accountCode, .ownAccount, .ownSession,
  ])
  func isARefusalOfAnAction(purpose: UserPoolPurpose) {
    let failure = failure(purpose)
    expect(failure.failureClass, equals: .refusedByBackend)
    expect(failure.code, equals: .accountRefused)
    // It says nothing about a user, so it is no secret that it was refused.
    expect(failure.remedy == nil && !failure.judgesSecret)
  }
}
