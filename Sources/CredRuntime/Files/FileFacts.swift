internal import CLinux
internal import CredCore
internal import Glibc

/// What is expected of a file.
enum FileContent: Sendable, Equatable {
  case text(FileText)
  case secret(FileText)
  /// With a block of that name.
  case pem(String)
  /// Certificates of authorities, of which libcurl takes none if one is damaged.
  case authorities

  var isSecret: Bool {
    switch self {
    case .text, .authorities: false
    case .secret: true
    case .pem(let block): block == Self.privateKey
    }
  }

  /// The same of a file of that size in bytes.
  func fault(ofSize size: Int) -> String? {
    if size == 0 { return "is empty" }
    guard let limit, size > limit else { return nil }
    return "is larger than \(limit) bytes"
  }

  /// Bytes that credd reads of a file; nil for PEM, which libcurl reads.
  private var limit: Int? {
    switch self {
    case .text, .secret: SecretFile.sizeLimit
    case .pem, .authorities: nil
    }
  }

  /// As ``FileText/fault(in:)``.
  func fault(in content: Secret) -> String? {
    switch self {
    case .text(let text), .secret(let text): return text.fault(in: content)
    case .authorities:
      if let fault = Self.pem(Self.certificate).fault(in: content) { return fault }
      // Without libcrypto there is no TLS either, which its first request says.
      return Library.Name.crypto.load() == nil ? Libcrypto().fault(ofCertificates: content) : nil
    case .pem(let block):
      guard content.holdsPEM(block) else { return "has no '-----BEGIN … \(block)-----' in it" }
      guard block == Self.privateKey, content.holdsEncryptedKey else { return nil }
      return "holds a private key with a passphrase, which credd does not have: "
        + "'openssl pkey -in KEY -out NEW' writes one without"
    }
  }

  static let certificate = "CERTIFICATE"
  static let privateKey = "PRIVATE KEY"
}

/// Whether a client certificate and its key are a pair. Making it blocks: it reads both, and may load
/// libcrypto.
enum ClientKeyFit: Sendable {
  case fits, other
  /// A file cannot be read or has no such block, which the look at that file alone says.
  case unreadable
  /// A block is damaged, or of a kind that libcrypto does not know.
  case noCertificate, noKey
  /// What is wrong with the key in the certificate's own file, as ``FileText/fault(in:)``.
  case fault(String)
  /// With the reason.
  case unknown(String)

  init(_ identity: ClientIdentity) {
    guard let certificates = FileFacts.content(of: identity.certificate),
      let privateKey =
        identity.isOneFile ? certificates : FileFacts.content(of: identity.privateKey)
    else {
      self = .unreadable
      return
    }
    if let fault = FileContent.pem(FileContent.privateKey).fault(in: privateKey) {
      self = identity.isOneFile ? .fault(fault) : .unreadable
      return
    }
    guard FileContent.pem(FileContent.certificate).fault(in: certificates) == nil else {
      self = .unreadable
      return
    }
    if let problem = Library.Name.crypto.load() {
      self = .unknown("libcrypto cannot be loaded: \(problem)")
      return
    }
    self = Libcrypto().fit(of: privateKey, to: certificates)
  }
}

/// What the kernel says of a file. Making it may block.
struct FileFacts: Sendable {
  /// The errno; 0 if there are facts.
  var failure: Int32 = 0
  var mode: mode_t = 0
  var size = 0
  /// Whether every user of the host can read it: it may be in a folder that is closed to others.
  var isOpenToAll = false
  /// The errno if the file cannot be run; only where that was asked.
  var cannotRun: Int32 = 0
  /// What is wrong with its content, with the size of that, or with the first line of a script.
  var fault: String?

  var kind: mode_t { mode & S_IFMT }

  init(_ path: String) {
    var facts = stat()
    if unsafe stat(path, &facts) != 0 { failure = errno } else { take(facts, path) }
  }

  init(running path: String) {
    self.init(path)
    guard failure == 0 else { return }
    if unsafe faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0 { cannotRun = errno }
    if kind == S_IFREG { fault = ScriptLine.fault(of: path) }
  }

  /// Opens only a regular file. Opening a pipe would disturb its writer, which takes the first
  /// process that opens the pipe for its reader.
  init(ofRegular path: String, _ content: FileContent) {
    self.init(path)
    if failure == 0, kind == S_IFREG { self = FileFacts(opening: path, content) }
  }

  init(opening path: String, _ content: FileContent) {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      failure = errno
      return
    }
    defer { credd_close(descriptor) }
    var facts = stat()
    guard unsafe fstat(descriptor, &facts) == 0 else {
      failure = errno
      return
    }
    take(facts, path)
    guard kind == S_IFREG else { return }
    fault = content.fault(ofSize: size)
    guard fault == nil, size <= Self.longestRead else { return }
    switch Self.content(in: descriptor, size) {
    case .success(let text): fault = content.fault(in: text)
    case .failure(let error): failure = error.number
    }
  }

  /// The size in bytes of the largest file that is read here, such as a bundle of authorities.
  private static let longestRead = 4 << 20

  private static func content(in descriptor: Int32, _ size: Int) -> Result<Secret, SystemError> {
    var bytes = [UInt8](repeating: 0, count: size)
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe credd_read_at(descriptor, $0.baseAddress, $0.count, 0)
    }
    guard count >= 0 else { return .failure(SystemError("read it", number: Int32(-count))) }
    return .success(Secret(Array(bytes[..<count])))
  }

  /// A file's content; nil where it cannot be read.
  static func content(of path: String) -> Secret? {
    let facts = FileFacts(path)
    guard facts.failure == 0, facts.kind == S_IFREG, facts.size <= longestRead else { return nil }
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { credd_close(descriptor) }
    return try? content(in: descriptor, facts.size).get()
  }

  private mutating func take(_ facts: stat, _ path: String) {
    mode = facts.st_mode
    size = Int(facts.st_size)
    isOpenToAll = mode & S_IROTH != 0 && Self.everybodyReaches(path)
  }

  /// Whether no folder is closed to others on the way to the file itself. A link in a closed folder does not
  /// close the file to which it leads.
  private static func everybodyReaches(_ path: String) -> Bool {
    guard let real = unsafe realpath(path, nil) else { return false }
    defer { unsafe free(real) }
    var folder = ""
    for part in unsafe String(cString: real).split(separator: "/").dropLast() {
      folder += "/\(part)"
      var facts = stat()
      guard unsafe stat(folder, &facts) == 0, facts.st_mode & S_IXOTH != 0 else { return false }
    }
    return true
  }
}
