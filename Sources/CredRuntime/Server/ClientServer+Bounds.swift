internal import CredCore

/// What is not granted: more time than others have, more memory than one user's share.
extension ClientServer {
  /// Has a request that took longer than a cached `get` count as several.
  func charge(_ time: Duration) {
    linesLeft -= Int(time / ServerLimits.lineTime)
  }

  /// Ends a connection with which its user holds more than their share. It is the one that grew:
  /// those of the same user that finish their lines and take their replies are left alone.
  func holdToShare(_ connection: Connection) {
    connection.account()
    let user = connection.user
    guard !connection.isClosing else { return }
    if connection.holdsPartialLine, user.unfinishedBytes > Limits.unfinishedBytesPerUser {
      cut(connection, "unfinished request lines", Limits.unfinishedBytesPerUser)
    } else if connection.backlog > 0,
      user.backlogBytes - connection.backlog > Limits.backlogBytesPerUser
    {
      cut(connection, "unread replies", Limits.backlogBytesPerUser)
    }
  }

  /// What is there to read before the refusal is still delivered.
  private func cut(_ connection: Connection, _ what: String, _ limit: Int) {
    connection.isClosing = true
    connection.dropLines()
    let error = ProtocolError(
      .tooManyRequests, "this user's connections hold more than \(limit) bytes of \(what)")
    reply(RenderedReply.error(error).bytes, to: connection)
    flush(connection)
    if !connection.isClosed { connection.account() }
  }
}
