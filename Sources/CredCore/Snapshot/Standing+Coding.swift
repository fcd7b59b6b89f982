extension Standing {
  private enum Tag {
    static let kind: UInt8 = 1
    static let voucher: UInt8 = 2
    static let session: UInt8 = 3
    static let developerUserIdentifier: UInt8 = 4
  }

  func write(to writer: inout SnapshotWriter) {
    switch self {
    case .signedOut(byUser: false): writer.field(Tag.kind, 0 as UInt8)
    case .signedOut(byUser: true): writer.field(Tag.kind, 1 as UInt8)
    case .guest: writer.field(Tag.kind, 2 as UInt8)
    case .signedIn(let voucher):
      writer.field(Tag.kind, 3 as UInt8)
      Self.write(voucher, to: &writer)
    case .tokensInvalid(let voucher):
      writer.field(Tag.kind, 4 as UInt8)
      Self.write(voucher, to: &writer)
    }
  }

  private static func write(_ voucher: Voucher, to writer: inout SnapshotWriter) {
    switch voucher {
    case .host: writer.field(Tag.voucher, 0 as UInt8)
    case .password(let session):
      writer.field(Tag.voucher, 1 as UInt8)
      writer.field(Tag.session, session.token)
      writer.field(Tag.developerUserIdentifier, session.developerUserIdentifier)
    case .developerToken: writer.field(Tag.voucher, 2 as UInt8)
    case .logins: writer.field(Tag.voucher, 3 as UInt8)
    case .tokenFile: writer.field(Tag.voucher, 4 as UInt8)
    }
  }

  init(reading reader: SnapshotReader) throws(SnapshotError) {
    var fields = reader
    var (kind, voucher): (UInt8?, UInt8?)
    var session: Secret?
    var identifier: String?
    while let field = try fields.next() {
      switch field.tag {
      case Tag.kind: kind = try field.byte("standing")
      case Tag.voucher: voucher = try field.byte("voucher")
      case Tag.session: session = try field.secret("backend session")
      case Tag.developerUserIdentifier: identifier = try field.text("developer user identifier")
      default: break
      }
    }
    switch kind {
    case 0: self = .signedOut(byUser: false)
    case 1: self = .signedOut(byUser: true)
    case 2: self = .guest
    case 3: self = .signedIn(try Self.voucher(voucher, session, identifier))
    case 4: self = .tokensInvalid(try Self.voucher(voucher, session, identifier))
    default: throw .invalid("standing")
    }
  }

  private static func voucher(
    _ kind: UInt8?, _ session: Secret?, _ identifier: String?
  ) throws(SnapshotError) -> Voucher {
    switch kind {
    case 0: return .host
    case 1:
      guard let session else { throw .missing("backend session") }
      return .password(BackendSession(token: session, developerUserIdentifier: identifier))
    case 2: return .developerToken
    case 3: return .logins
    case 4: return .tokenFile
    default: throw .invalid("voucher")
    }
  }
}
