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

/// For what credd is made of: regular expressions would be an eighth of it. See Containment.swift.
let plain: [SwiftSetting] = [
  .unsafeFlags(["-Xfrontend", "-disable-implicit-string-processing-module-import"])
]

let warnings: [CSetting] = [
  .treatAllWarnings(as: .error), .enableWarning("all"), .enableWarning("extra"),
]

let argumentParser: Target.Dependency = .product(
  name: "ArgumentParser", package: "swift-argument-parser")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

let package = Package(
  name: "credd",
  products: [
    .executable(name: "credd", targets: ["credd"]),
    .executable(name: "credctl", targets: ["credctl"]),
    .executable(name: "credd-sandbox", targets: ["credd-sandbox"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
  ],
  targets: [
    .target(name: "CLinux", cSettings: warnings),
    .target(name: "CWipingFree", cSettings: warnings),
    .target(name: "CSystemd", cSettings: warnings, linkerSettings: [.linkedLibrary("systemd")]),
    // CCurl and CCrypto load their libraries at need, and link none.
    .target(name: "CLoad", cSettings: warnings),
    .target(name: "CCurl", dependencies: ["CLoad"], cSettings: warnings),
    .target(name: "CCrypto", dependencies: ["CLoad"], cSettings: warnings),
    .target(name: "CredCore", swiftSettings: strict + plain),
    .target(
      name: "CredRuntime",
      dependencies: [
        "CredCore", "CLinux", "CSystemd", "CCurl", "CCrypto", "CWipingFree", logging,
      ],
      swiftSettings: strict + plain),
    .executableTarget(
      name: "credd", dependencies: ["CredCore", "CredRuntime", logging],
      swiftSettings: strict + plain,
      linkerSettings: [
        .unsafeFlags(
          [
            // All symbols are bound at the start, and the table of them is read-only from then on.
            "-z", "now",
            // Libraries look up free() and realloc() alone (Sources/CWipingFree), which linkers export
            // anyway. The names of all other functions are 0.3 MB, read at each start.
            "--no-export-dynamic",
          ].flatMap { ["-Xlinker", $0] })
      ]),
    .target(name: "CredctlKit", dependencies: ["CredCore"], swiftSettings: strict),
    .executableTarget(
      name: "credctl",
      dependencies: ["CredCore", "CredctlKit", "CLinux", "CWipingFree", argumentParser],
      swiftSettings: strict,
      // No dynamic linker at start: build it with --static-swift-stdlib, as the Makefile does.
      linkerSettings: [
        .unsafeFlags(
          ["-static-executable"]
            // Sources/CWipingFree
            + ["--wrap=free", "--wrap=realloc"].flatMap { ["-Xlinker", $0] },
          .when(configuration: .release))
      ]),
    .target(
      name: "SandboxKit",
      dependencies: [
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "CryptoExtras", package: "swift-crypto"),
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "credd-sandbox",
      dependencies: [
        "SandboxKit", argumentParser,
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ],
      swiftSettings: strict),
    .target(name: "Programs", dependencies: ["credd", "credctl", "credd-sandbox"]),
    // Not shipped: credd's machines in a simulated world.
    .target(name: "SimulationKit", dependencies: ["CredCore"], swiftSettings: strict),
    .executableTarget(
      name: "credd-simulate", dependencies: ["SimulationKit", argumentParser],
      swiftSettings: strict),
    // Not shipped: what reads other people's bytes, to be fuzzed by scripts/fuzz.
    .target(name: "FuzzTargets", dependencies: ["CredCore"], swiftSettings: strict),
    .testTarget(name: "FuzzTests", dependencies: ["FuzzTargets"], swiftSettings: strict),
    .testTarget(
      name: "SimulationTests", dependencies: ["CredCore", "SimulationKit"], swiftSettings: strict),
    .testTarget(
      name: "CredCoreTests",
      dependencies: [
        "CredCore",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "CryptoExtras", package: "swift-crypto"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "CredRuntimeTests", dependencies: ["CredCore", "CredRuntime"], swiftSettings: strict),
    .testTarget(
      name: "CredctlTests", dependencies: ["CredCore", "CredctlKit"], swiftSettings: strict),
    .testTarget(
      name: "SandboxTests",
      dependencies: [
        "SandboxKit",
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "CryptoExtras", package: "swift-crypto"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "DaemonTests",
      // The programs are dependencies so that they are built beside the tests that run them.
      dependencies: ["credd", "credctl", "credd-sandbox"],
      swiftSettings: strict),
    // They install the Debian package that `make deb` builds, on a machine of their own.
    .testTarget(name: "SystemTests", swiftSettings: strict),
  ]
)
