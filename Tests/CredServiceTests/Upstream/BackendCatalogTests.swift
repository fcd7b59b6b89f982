import CredCore
import TestSupport
import Testing

@testable import CredService

/// The two lines by which a type of backend is known.
struct BackendCatalogTests {
  @Test func `every type of backend can be called`() {
    expect(
      Set(BackendExchangeCatalog.all.map { type(of: $0) }), equals: Set(BackendType.allCases))
  }

  private func type<Exchanges: BackendExchanges>(of exchanges: Exchanges.Type) -> BackendType {
    Exchanges.Settings.type
  }
}
