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

/// Links a release by lld, with what runs at a start side by side: scripts/link-order.
func lean(_ program: String, _ flags: [String]) -> [LinkerSetting] {
  let order = "\(Context.packageDirectory)/Sources/link-order/\(program)"
  let all = flags + ["--symbol-ordering-file=\(order)", "--no-warn-symbol-ordering"]
  // Of the C++ library Swift's runtime wants little; the Makefile puts it there as an archive alone.
  let archives = [
    "-L\(Context.packageDirectory)/build/archives", "-Xclang-linker", "-static-libgcc",
  ]
  let words = ["-use-ld=lld"] + archives + all.flatMap { ["-Xlinker", $0] }
  return [.unsafeFlags(words, .when(configuration: .release))]
}

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
    // These two load their libraries at need, and link none.
    .target(name: "CCurl", cSettings: warnings),
    .target(name: "CCrypto", cSettings: warnings),
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
      // All symbols are bound at the start, and the table of them is read-only from then on.
      linkerSettings: [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now"])]
        + lean(
          "credd",
          [
            // 40,000 addresses to relocate in 5 KB, and not in 1 MB.
            "-z", "pack-relative-relocs",
            // What nobody looks up is no reason to keep a function. The allocator that wipes is
            // looked up: by libraries that are loaded later.
            "--no-export-dynamic", "--export-dynamic-symbol=free",
            "--export-dynamic-symbol=realloc",
          ])),
    .target(name: "CredctlKit", dependencies: ["CredCore"], swiftSettings: strict),
    .executableTarget(
      name: "credctl",
      dependencies: ["CredCore", "CredctlKit", "CLinux", "CWipingFree", argumentParser],
      swiftSettings: strict,
      // No dynamic linker at start: build it with --static-swift-stdlib, as the Makefile does.
      linkerSettings: [
        .unsafeFlags(
          ["-static-executable"]
            + [
              // Sources/CWipingFree
              "--wrap=free", "--wrap=realloc",
              // Sources/CLinux/quick_start.c
              "--wrap=swift_copyAuxiliaryExecutablePath",
            ].flatMap { ["-Xlinker", $0] },
          .when(configuration: .release))
      ]
        + lean(
          "credctl",
          [
            // An index into .eh_frame, of 0.4 MB, that a static program has no use for: crtbeginT.o
            // announces .eh_frame itself. gcc -static makes none either.
            "--no-eh-frame-hdr",
            // The names of Unicode's characters, 0.5 MB: who asked for one would abort. Nothing does;
            // FoundationEssentials keeps them, for regular expressions.
            "--defsym=_swift_stdlib_getScalarName=abort",
          ])),
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
    // Not shipped: credd's machines in a simulated world.
    .target(
      name: "SimulationKit", dependencies: ["CredCore", "CredService", logging],
      swiftSettings: strict),
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
