/// The path of a Unix socket, byte for byte: texts that look alike are two paths.
public struct UnixSocketPath: Hashable, Sendable, Comparable, CustomStringConvertible {
  public let bytes: [UInt8]

  public init(_ text: String) { bytes = Array(text.utf8) }

  /// - Parameter name: what the kernel gives, from the first byte of `sun_path`. An abstract name, which
  ///   begins with a NUL, gets an `@` in its place.
  public init(kernelName name: some Sequence<UInt8>) {
    var bytes = Array(name)
    if bytes.first == 0 {
      bytes[0] = UInt8(ascii: "@")
    } else {
      bytes = Array(bytes.prefix { $0 != 0 })
    }
    self.bytes = bytes
  }

  public var description: String { String(decoding: bytes, as: UTF8.self) }

  public static func < (one: Self, other: Self) -> Bool {
    one.bytes.lexicographicallyPrecedes(other.bytes)
  }

  /// The folder that holds it; empty for a path in the root folder.
  public var folder: ArraySlice<UInt8> {
    bytes[..<(bytes.lastIndex(of: UInt8(ascii: "/")) ?? 0)]
  }

  /// The same file name in another folder.
  public func moved(to folder: some Sequence<UInt8>) -> UnixSocketPath {
    let name = bytes[(bytes.lastIndex(of: UInt8(ascii: "/")) ?? 0)...]
    let bytes = Array(folder)
    return UnixSocketPath(
      kernelName: (bytes.last == UInt8(ascii: "/") ? bytes.dropLast() : bytes[...]) + name)
  }

  /// Whether the folder of this path holds the other path too, directly or further down. A folder is what
  /// a container gets mounted.
  public func sharesFolder(with other: UnixSocketPath) -> Bool {
    other.bytes.starts(with: folder + [UInt8(ascii: "/")])
  }

  /// The error in a section's path, with the correction; nil if a socket may have this path.
  var fault: String? {
    guard bytes.first == UInt8(ascii: "/") else {
      return "the path is not absolute: begin it with '/'"
    }
    guard bytes.count <= Limits.Configuration.socketPathBytes else {
      return "the path has \(bytes.count) bytes, and that of a Unix socket at most "
        + "\(Limits.Configuration.socketPathBytes): choose a shorter one"
    }
    let variable = Array("${".utf8)
    guard !bytes.indices.contains(where: { bytes[$0...].starts(with: variable) }) else {
      return "variables are not replaced in a header: write the whole path"
    }
    let names = bytes.dropFirst().split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard names.allSatisfy({ !["", ".", ".."].contains(String(decoding: $0, as: UTF8.self)) })
    else {
      return "write the path as the kernel gives it, without '//', '.', '..' and a '/' at its end"
    }
    return nil
  }
}
