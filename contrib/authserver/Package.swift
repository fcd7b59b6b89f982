// swift-tools-version: 6.2
import PackageDescription

/// What every Swift target of the server is built with.
let strict: [SwiftSetting] = [
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let credCore: Target.Dependency = .product(name: "CredCore", package: "credd")
let credTransfer: Target.Dependency = .product(name: "CredTransfer", package: "credd")
let fuzzTargets: Target.Dependency = .product(name: "FuzzTargets", package: "credd")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")

let package = Package(
  name: "credd-authserver",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "credd-authserver", targets: ["credd-authserver"])],
  dependencies: [
    .package(name: "credd", path: "../.."),
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
  ],
  targets: [
    .systemLibrary(
      name: "CArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"])]),
    .systemLibrary(
      name: "CActivation", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CSpawn"),
    .systemLibrary(name: "CHardening"),
    .systemLibrary(name: "CUnistring", providers: [.apt(["libunistring-dev"])]),
    .target(
      name: "AuthCore", dependencies: ["COpenSSL", "CUnistring", credCore], swiftSettings: strict),
    .target(
      name: "AuthStore", dependencies: ["AuthCore", "CPostgres", "CSQLite", nioPosix],
      swiftSettings: strict),
    .target(
      name: "AuthServer",
      dependencies: [
        "AuthCore", "AuthStore", "CArgon2", "CActivation", "CSpawn", credCore, credTransfer,
        logging, nioCore, nioHTTP1, nioPosix, nioSSL,
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "credd-authserver",
      dependencies: [
        "AuthCore", "AuthStore", "AuthServer", "CHardening", "CSpawn", credCore, logging,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: strict,
      // All symbols are bound at the start, and the table of them is read-only from then on.
      linkerSettings: [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now"])]),
    // scripts/fuzz feeds these targets. Each gives its bytes to one reader of the server.
    .target(
      name: "AuthFuzzTargets", dependencies: ["AuthCore", "COpenSSL", credCore, fuzzTargets],
      path: "Tests/FuzzTargets", swiftSettings: strict),
    .testTarget(
      name: "AuthCoreTests",
      dependencies: ["AuthCore", "AuthFuzzTargets", credCore, fuzzTargets], swiftSettings: strict),
    .testTarget(
      name: "AuthStoreTests", dependencies: ["AuthCore", "AuthStore", "AuthTestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "AuthServerTests",
      dependencies: [
        "AuthCore", "AuthStore", "AuthServer", "AuthTestSupport", "credd-authserver", credCore,
        fuzzTargets, logging, nioCore, nioHTTP1, nioPosix, nioSSL,
        .product(name: "NIOEmbedded", package: "swift-nio"),
      ],
      swiftSettings: strict),
    .target(
      name: "AuthTestSupport", dependencies: ["AuthCore", "AuthStore", "AuthServer"],
      path: "Tests/AuthTestSupport", swiftSettings: strict),
  ]
)
