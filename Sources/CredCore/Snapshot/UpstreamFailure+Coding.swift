extension UpstreamFailure {
  private enum Tag {
    static let upstream: UInt8 = 1
    static let backend: UInt8 = 2
    static let kind: UInt8 = 3
    static let retryAfter: UInt8 = 4
    static let code: UInt8 = 5
    static let message: UInt8 = 6
    static let severity: UInt8 = 7
    static let isWithheld: UInt8 = 8
  }

  /// The kinds of failures by number; a new one is added at the end.
  private static let kinds: [FailureClass] = [
    .transient(retryAfter: nil), .throttled(retryAfter: nil), .newTokenOnce,
    .dropIdentityThenNewToken, .retryWithoutIdentity, .newIdentity, .signInRequired, .signInFailed,
    .refusedByBackend, .unknownUser, .conflict, .poolMisconfigured, .permanentConfiguration,
  ]

  func write(to writer: inout SnapshotWriter) {
    switch upstream {
    case .cognitoIdentity: writer.field(Tag.upstream, 0 as UInt8)
    case .sts: writer.field(Tag.upstream, 1 as UInt8)
    case .backend(let name):
      writer.field(Tag.upstream, 2 as UInt8)
      writer.field(Tag.backend, name)
    }
    let kind = Self.kinds.firstIndex(of: failureClass.withoutDelay) ?? 0
    writer.field(Tag.kind, UInt8(truncatingIfNeeded: kind))
    writer.field(Tag.retryAfter, failureClass.retryAfter)
    writer.field(Tag.code, code.rawValue)
    // Cut between characters; what upstream said may be long.
    writer.field(Tag.message, String(message.prefix(Limits.snapshotTextBytes / 32)))
    writer.field(Tag.severity, severity == .operatorMustAct ? 1 as UInt8 : 0)
    if isWithheld { writer.field(Tag.isWithheld, 1 as UInt8) }
  }

  /// Nil where a newer daemon wrote of a kind, a code or an upstream that this one does not know.
  static func read(_ reader: SnapshotReader) throws(SnapshotError) -> UpstreamFailure? {
    var fields = reader
    var (number, kind, severity): (UInt8?, UInt8?, UInt8) = (nil, nil, 0)
    var isWithheld = false
    var (backend, code, message) = ("", "", "")
    var delay: Duration?
    while let field = try fields.next() {
      switch field.tag {
      case Tag.upstream: number = try field.byte("upstream")
      case Tag.backend: backend = try field.text("backend")
      case Tag.kind: kind = try field.byte("failure")
      case Tag.retryAfter: delay = try field.duration("pause")
      case Tag.code: code = try field.text("code")
      case Tag.message: message = try field.text("message")
      case Tag.severity: severity = try field.byte("severity")
      case Tag.isWithheld: isWithheld = try field.byte("withheld") == 1
      default: break
      }
    }
    let upstream: Upstream? =
      switch number {
      case 0: .cognitoIdentity
      case 1: .sts
      case 2: .backend(backend)
      default: nil
      }
    guard let upstream, let kind, kinds.indices.contains(Int(kind)),
      let code = ProtocolErrorCode(rawValue: code)
    else { return nil }
    var failure = UpstreamFailure(
      upstream: upstream, failureClass: kinds[Int(kind)].with(delay: delay), code: code,
      message: message, severity: severity == 1 ? .operatorMustAct : .expected)
    failure.isWithheld = isWithheld
    return failure
  }
}

extension FailureClass {
  fileprivate var withoutDelay: FailureClass { with(delay: nil) }

  fileprivate func with(delay: Duration?) -> FailureClass {
    switch self {
    case .transient: .transient(retryAfter: delay)
    case .throttled: .throttled(retryAfter: delay)
    default: self
    }
  }
}
