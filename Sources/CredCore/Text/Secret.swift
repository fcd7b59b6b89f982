/// Bytes that must not be shown: a token, a key, a password.
///
/// Copies share one buffer. It has no description on purpose: it reaches the outside only where
/// somebody asks for its bytes. The buffer is overwritten when the last copy goes, because in
/// credd's programs `free` itself wipes (`CLinux/wiping_free.c`), which covers every library too.
public struct Secret: Sendable, Equatable, Undisclosed {
  /// The bytes themselves. Whoever copies them into a buffer of its own owns a second secret.
  public let bytes: [UInt8]

  public init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// For text that already exists as a `String`: a literal in a test, a typed password.
  public init(_ text: String) {
    self.bytes = Array(text.utf8)
  }

  /// Length in bytes.
  public var count: Int { bytes.count }

  /// Whether there is nothing to hide.
  public var isEmpty: Bool { bytes.isEmpty }

  /// Appends the bytes to a buffer, which is then as secret as they are.
  public func append(to buffer: inout [UInt8]) {
    buffer.append(contentsOf: bytes)
  }

  /// The bytes as text, for the one moment in which an API wants a `String`; nil if not UTF-8.
  public func exposedText() -> String? {
    String(validating: bytes, as: UTF8.self)
  }
}

/// A value that holds secrets as plain bytes: neither `print` nor `dump` nor a debugger's summary
/// shows them.
public protocol Undisclosed: CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{}

extension Undisclosed {
  public var description: String { "<secret>" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
