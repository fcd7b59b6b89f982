internal import CCrypto
internal import CredCore

/// Signatures of client assertions, from libcrypto. They take milliseconds: call them on a thread.
extension Libcrypto: AssertionSigning {
  func algorithm(ofKey pem: Secret) -> SigningAlgorithm? {
    let text = pem.bytes.map { CChar(bitPattern: $0) }
    return switch unsafe credd_key_algorithm(text, text.count) {
    case Int32(CREDD_RS256): .rs256
    case Int32(CREDD_ES256): .es256
    default: nil
    }
  }

  func signature(of message: [UInt8], key pem: Secret, by algorithm: SigningAlgorithm) -> [UInt8]? {
    let text = pem.bytes.map { CChar(bitPattern: $0) }
    var signature = [UInt8](repeating: 0, count: Self.longestSignature)
    let length = unsafe credd_sign(
      text, text.count, message, message.count, &signature, signature.count)
    return length > 0 ? Array(signature.prefix(length)) : nil
  }

  /// Whether a private key belongs to the first certificate of a chain, both in PEM.
  func fit(of key: Secret, to certificates: Secret) -> ClientKeyFit {
    let (chain, key) = (
      certificates.bytes.map { CChar(bitPattern: $0) }, key.bytes.map { CChar(bitPattern: $0) }
    )
    return switch unsafe credd_key_fits(chain, chain.count, key, key.count) {
    case Int32(CREDD_KEY_FITS): .fits
    case Int32(CREDD_KEY_OF_ANOTHER): .other
    case Int32(CREDD_NO_CERTIFICATE): .noCertificate
    default: .noKey
    }
  }

  /// What keeps OpenSSL from taking a file of certificates, as ``FileText/fault(in:)``.
  func fault(ofCertificates file: Secret) -> String? {
    let text = file.bytes.map { CChar(bitPattern: $0) }
    var start = 0
    switch unsafe credd_damaged_pem(text, text.count, &start) {
    case Int32(CREDD_PEM_GOOD): return nil
    case Int32(CREDD_PEM_EMPTY):
      return "has no certificate that OpenSSL finds: each line must end in a line feed"
    default:
      let line = file.line(ofBlock: "-----BEGIN ", from: start)
      return "cannot be read: the block that begins in line \(line) is damaged"
    }
  }

  /// Bytes: of a key of 16,384 bits, the longest that OpenSSL reads.
  private static let longestSignature = 2048
}
