// swift-tools-version: 6.2
import PackageDescription

/// What every Swift target of credd is built with.
let strict: [SwiftSetting] = [
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// For what credd is made of: regular expressions would be an eighth of it. See CredCore/Text/Bytes.swift.
let plain: [SwiftSetting] = [
  .unsafeFlags(["-Xfrontend", "-disable-implicit-string-processing-module-import"])
]

let warnings: [CSetting] = [
  .treatAllWarnings(as: .error), .enableWarning("all"), .enableWarning("extra"),
]

/// How credd is linked. All symbols are bound at the start, and the table of them is read-only from
/// then on. Libraries look up free() and realloc() alone (Sources/CWipingFree), which linkers export
/// anyway; the names of all other functions are 0.3 MB, read at each start.
let linkerFlags = [
  "-Xlinker", "-z", "-Xlinker", "now", "-Xlinker", "--no-export-dynamic",
]

let argumentParser: Target.Dependency = .product(
  name: "ArgumentParser", package: "swift-argument-parser")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

/// The programs are dependencies so that they are built beside the tests that run them.
let daemonTests: [Target.Dependency] = [
  "credd", "credctl", "credd-sandbox", "DaemonHarness", "SeededRandom", "TestSupport", "CCallers",
]

let package = Package(
  name: "credd",
  products: [
    .executable(name: "credd", targets: ["credd"]),
    .executable(name: "credctl", targets: ["credctl"]),
    .executable(name: "credd-sandbox", targets: ["credd-sandbox"]),
    // For contrib/authserver, a package of its own.
    .library(name: "CredCore", targets: ["CredCore"]),
    .library(name: "CredTransfer", targets: ["CredTransfer", "CCurl"]),
    .library(name: "FuzzTargets", targets: ["FuzzTargets", "SeededRandom"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
  ],
  targets: [
    .target(name: "CLinux", cSettings: warnings),
    .target(name: "CWipingFree", cSettings: warnings),
    .target(name: "COlderLibc", cSettings: warnings),
    .target(name: "CSwiftStart", cSettings: warnings),
    .target(name: "CSystemd", cSettings: warnings, linkerSettings: [.linkedLibrary("systemd")]),
    // CCurl and CCrypto load their libraries at need, and link none.
    .target(name: "CLoad", cSettings: warnings),
    .target(name: "CCurl", dependencies: ["CLoad"], cSettings: warnings),
    .target(name: "CCrypto", dependencies: ["CLoad"], cSettings: warnings),
    .target(name: "CredCore", swiftSettings: strict + plain),
    .target(
      name: "CredService", dependencies: ["CredCore", logging], swiftSettings: strict + plain),
    // Beside CredRuntime, since the authentication server has calls too.
    .target(
      name: "CredTransfer", dependencies: ["CredCore", "CCurl"], swiftSettings: strict + plain),
    // Beside CredRuntime, since credctl has listeners too.
    .target(
      name: "CredLoopback", dependencies: ["CredCore", "CLinux"], swiftSettings: strict + plain),
    .target(
      name: "CredRuntime",
      dependencies: [
        "CredCore", "CredLoopback", "CredService", "CredTransfer", "CLinux", "CLoad", "CSystemd",
        "CCurl", "CCrypto", "CWipingFree", logging,
      ],
      swiftSettings: strict + plain),
    .executableTarget(
      name: "credd",
      dependencies: ["CredCore", "CredService", "CredRuntime", "COlderLibc", logging],
      swiftSettings: strict + plain,
      linkerSettings: [
        .unsafeFlags(linkerFlags)
      ]),
    .target(
      name: "CQRCode", cSettings: warnings, linkerSettings: [.linkedLibrary("qrcodegen")]),
    .target(name: "CredctlKit", dependencies: ["CredCore"], swiftSettings: strict),
    .executableTarget(
      name: "credctl",
      dependencies: [
        "CredCore", "CredLoopback", "CredctlKit", "CLinux", "COlderLibc", "CQRCode", "CSwiftStart",
        "CWipingFree", argumentParser,
      ],
      swiftSettings: strict,
      // A static program, so that `get` starts without a dynamic linker. The three libraries are what
      // Foundation's archive needs where the build has no --static-swift-stdlib. Sources/CWipingFree
      // explains --wrap.
      linkerSettings: [
        .unsafeFlags(
          ["-static-executable", "-Xlinker", "--wrap=free", "-Xlinker", "--wrap=realloc"],
          .when(configuration: .release)),
        .linkedLibrary("_FoundationCShims", .when(configuration: .release)),
        .linkedLibrary("_FoundationCollections", .when(configuration: .release)),
        .linkedLibrary("swiftSynchronization", .when(configuration: .release)),
      ]),
    .target(
      name: "CSandboxCrypto", cSettings: warnings,
      linkerSettings: [.linkedLibrary("gnutls"), .linkedLibrary("gmp")]),
    .target(
      name: "CSandboxHTTP", cSettings: warnings,
      linkerSettings: [.linkedLibrary("microhttpd"), .linkedLibrary("gnutls")]),
    // For the sandbox and for tests: nothing that the daemon draws.
    .target(name: "SeededRandom", swiftSettings: strict),
    .target(
      name: "SandboxKit", dependencies: ["CSandboxCrypto", "SeededRandom"], swiftSettings: strict),
    .executableTarget(
      name: "credd-sandbox",
      dependencies: ["SandboxKit", "CSandboxHTTP", "COlderLibc", argumentParser],
      swiftSettings: strict),
    .target(name: "Programs", dependencies: ["credd", "credctl", "credd-sandbox"]),
    // Not shipped: the service on a simulated host.
    .target(
      name: "SimulationKit", dependencies: ["CredCore", "CredService", "SeededRandom", logging],
      path: "Tests/SimulationKit", swiftSettings: strict),
    .executableTarget(
      name: "credd-simulate", dependencies: ["SimulationKit", argumentParser],
      path: "Tests/credd-simulate", swiftSettings: strict),
    // Not shipped: what reads other people's bytes, to be fuzzed by scripts/fuzz.
    .target(
      name: "FuzzTargets", dependencies: ["CredCore", "SeededRandom"], path: "Tests/FuzzTargets",
      swiftSettings: strict),
    .testTarget(
      name: "FuzzTests", dependencies: ["FuzzTargets", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "SimulationTests", dependencies: ["CredCore", "SimulationKit", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      // The sandbox's cryptography checks the daemon's.
      name: "CredCoreTests",
      dependencies: ["CredCore", "SandboxKit", "SeededRandom", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "CredServiceTests",
      dependencies: [
        "CredCore", "CredService", "FuzzTargets", "SeededRandom", "ServiceTesting", "SimulationKit",
        "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "StoryTests",
      // CredRuntime for the journal's fields. credctl is run as a program.
      dependencies: [
        "CredCore", "CredService", "CredRuntime", "CredctlKit", "credctl", "DaemonHarness",
        "ServiceTesting", "TestSupport", logging,
      ],
      swiftSettings: strict),
    .testTarget(
      name: "CredRuntimeTests",
      // The sandbox proves what OpenSSL computes.
      dependencies: [
        "CredCore", "CredLoopback", "CredService", "CredTransfer", "CredRuntime", "SandboxKit",
        "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "CredctlTests",
      dependencies: ["CredCore", "CredctlKit", "credctl", "TestSupport", argumentParser],
      swiftSettings: strict),
    .testTarget(
      name: "SandboxTests", dependencies: ["SandboxKit", "SeededRandom", "TestSupport"],
      swiftSettings: strict),
    // The programs from outside: what every change passes, and what takes foreign programs, another
    // machine, the stripped programs or a clock.
    .testTarget(name: "DaemonTests", dependencies: daemonTests, swiftSettings: strict),
    .testTarget(name: "FieldTests", dependencies: daemonTests, swiftSettings: strict),
    .target(
      name: "DaemonHarness", dependencies: ["TestSupport", "CCallers"], path: "Tests/DaemonHarness",
      swiftSettings: strict),
    // They install the Debian package that `make deb` builds, on a machine of their own.
    .testTarget(name: "SystemTests", dependencies: ["TestSupport"], swiftSettings: strict),
    .target(name: "CCallers", path: "Tests/CCallers", cSettings: warnings),
    .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: strict),
    // The service on a host of fakes, in virtual time. Only for tests: it sees what is internal.
    .target(
      name: "ServiceTesting",
      dependencies: [
        "CredCore", "CredService", "SeededRandom", "SimulationKit", "TestSupport", logging,
      ],
      path: "Tests/ServiceTesting", swiftSettings: strict),
  ]
)
