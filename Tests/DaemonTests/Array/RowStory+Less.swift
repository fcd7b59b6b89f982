import TestSupport
import Testing

@testable import DaemonHarness

/// Whatever a row is about, the profile that is derived from its first one gives less, or nothing.
extension RowStory {
  /// Asks the derived profile what the first profile was asked, and the sandbox what its key may do.
  ///
  /// - Parameter wide: the key that the first profile gave; nil where it gave none.
  func expectLess(
    for person: RowCast.Person, as target: RowCast.Person?, wide: String?, wait: Int,
    _ moment: String
  ) throws {
    let name = target.map { #","user":"\#($0.name)""# } ?? ""
    let reply = try client(person, at: host.socketPath).ask(
      #"{"profile":"\#(RowConfiguration.less)","wait":\#(wait)\#(name)}"#)
    guard let wide else {
      return expect(reply["AccessKeyId"] == nil, "\(moment): less came where nothing came")
    }
    let key = try #require(
      reply["AccessKeyId"]?.text, "\(moment): \(reply.errorCode ?? ""): \(reply.errorMessage ?? "")"
    )
    _ = try host.sandbox.issued(reply)
    _ = reply.secrets()
    expect(key != wide, "\(moment)")
    let uid = (target ?? person).uid
    let own = "arn:aws:s3:::less/\(uid)/x"
    // A guest's key may do nothing of this.
    let mayRead = try may(wide, "GetObject", own)
    expect(try may(key, "GetObject", own), equals: mayRead, "\(moment)")
    let (mayWrite, mayReadOthers) = (
      try may(key, "PutObject", own), try may(key, "GetObject", "arn:aws:s3:::less/\(uid + 1)/x")
    )
    expect(!mayWrite && !mayReadOthers, "\(moment)")
  }

  private func may(_ key: String, _ action: String, _ resource: String) throws -> Bool {
    let answer = try host.sandbox.control(
      "POST", "may",
      #"{"AccessKeyId":"\#(key)","Action":"s3:\#(action)","Resource":"\#(resource)"}"#)
    return answer["Allowed"] == .bool(true)
  }
}
