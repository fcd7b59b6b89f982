// swift-tools-version: 6.2
import PackageDescription

/// What every Swift target of credd is built with. `NonisolatedNonsendingByDefault` keeps
/// nonisolated `async` functions on the caller's executor, which is the event loop.
let strict: [SwiftSetting] = [
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "credd",
  products: [
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
  ],
  targets: [
    .target(name: "CredCore", swiftSettings: strict),
    .testTarget(
      name: "CredCoreTests",
      dependencies: [
        "CredCore",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "CryptoExtras", package: "swift-crypto"),
      ],
      swiftSettings: strict),
  ]
)
