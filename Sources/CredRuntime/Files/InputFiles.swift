internal import CLinux
public import CredCore
internal import Glibc

/// The configuration as files: `/etc/credd/credd.conf`, then `/etc/credd/credd.conf.d/*.conf`.
public enum ConfigurationFiles {
  /// Reads `path` and `path.d/*.conf` in the order of their names.
  ///
  /// - Parameter neighbours: the daemon's other sockets.
  /// - Throws: if an existing file cannot be read, or if `path` itself is missing.
  public static func read(
    _ path: String, beside neighbours: SocketNeighbours = SocketNeighbours(others: [])
  ) throws(SystemError) -> ConfigurationReading {
    read(try sources(of: path), policyFile: PolicyFile.read, beside: neighbours)
  }

  /// - Parameters:
  ///   - policyFile: reads the file of a derived or direct profile's policy.
  ///   - neighbours: the daemon's other sockets.
  static func read(
    _ sources: [ConfigurationSource],
    policyFile: @escaping (_ path: String) -> Result<[UInt8], InvalidValue>,
    beside neighbours: SocketNeighbours
  ) -> ConfigurationReading {
    let reading = Configuration.read(sources, policyFile: policyFile) { name in
      unsafe getenv(name).map { unsafe String(cString: $0) }
    }
    return reading.beside(neighbours) { $0.withoutLinks }
  }

  static func sources(of path: String) throws(SystemError) -> [ConfigurationSource] {
    var sources = [try source(path)]
    for name in try fragments(of: path) { sources.append(try source(name)) }
    return sources
  }

  static func fragments(of path: String) throws(SystemError) -> [String] {
    try names(in: path + ".d").filter { $0.hasSuffix(".conf") }.map { "\(path).d/\($0)" }
  }

  /// Files beside the fragments that are not read because of their names. Files are left out that
  /// an editor, a package manager or an administrator has put aside by the name.
  static func unread(beside path: String) -> [String] {
    let aside = ["~", ".bak", ".old", ".orig", ".disabled"]
    let left = [".dpkg-", ".ucf-", ".rpm"]
    return ((try? names(in: path + ".d")) ?? []).filter { name in
      !name.hasSuffix(".conf") && name != "README" && !aside.contains(where: name.hasSuffix)
        && !left.contains(where: name.contains(bytesOf:))
    }.map { "\(path).d/\($0)" }
  }

  /// The names in a folder that are not hidden, in the order of their bytes; none if there is no such
  /// folder.
  static func names(in folder: String) throws(SystemError) -> [String] {
    guard let stream = unsafe opendir(folder) else {
      if errno == ENOENT { return [] }
      throw SystemError("cannot read \(folder)", number: errno)
    }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
        unsafe field.withMemoryRebound(to: CChar.self, capacity: 256) {
          unsafe String(cString: $0)
        }
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
  }

  private static func source(_ path: String) throws(SystemError) -> ConfigurationSource {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError("cannot read \(path)", number: errno) }
    defer { credd_close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    // The reader refuses larger files, so more bytes need not be read.
    while bytes.count <= Limits.Configuration.fileBytes {
      let count = unsafe chunk.withUnsafeMutableBytes {
        unsafe credd_read(descriptor, $0.baseAddress, $0.count)
      }
      try SystemError.check(count, "cannot read \(path)")
      if count == 0 { break }
      bytes.append(contentsOf: chunk[..<count])
    }
    return ConfigurationSource(name: path, bytes: bytes)
  }
}

extension UnixSocketPath {
  /// The path with the real name of its folder; the path itself if there is no such folder.
  fileprivate var withoutLinks: UnixSocketPath {
    guard let real = unsafe realpath(String(decoding: folder, as: UTF8.self), nil) else {
      return self
    }
    defer { unsafe free(real) }
    return moved(to: unsafe String(cString: real).utf8)
  }
}

/// A small file with a secret. It is read again for each use, so that it can be replaced.
enum SecretFile {
  static let sizeLimit = 64 << 10

  /// - Throws: an error for the operator that names the file.
  static func read(_ path: String, as key: String) throws(InvalidInput) -> Secret {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw unreadable(path, key, errno) }
    defer { credd_close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: sizeLimit + 1)
    var count = 0
    while count < bytes.count {
      let read = unsafe bytes.withUnsafeMutableBytes {
        unsafe credd_read(descriptor, $0.baseAddress.map { unsafe $0 + count }, $0.count - count)
      }
      guard read >= 0 else { throw unreadable(path, key, Int32(-read)) }
      if read == 0 { break }
      count += read
    }
    guard count <= sizeLimit else {
      throw InvalidInput(field: key, reason: "\(path) is larger than \(sizeLimit) bytes")
    }
    return Secret(Array(bytes[..<count]))
  }

  private static func unreadable(_ path: String, _ key: String, _ number: Int32) -> InvalidInput {
    InvalidInput(field: key, reason: SystemError("cannot read \(path)", number: number).description)
  }
}
