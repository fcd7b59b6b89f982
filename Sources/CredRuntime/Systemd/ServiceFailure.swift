/// Tells the service manager why the daemon cannot start.
public enum ServiceFailure {
  /// - Parameters:
  ///   - text: shown by `systemctl status`; made one line.
  ///   - number: the errno behind it, where there is one.
  public static func tell(_ text: String, number: Int32?) {
    var state = "STATUS=\(text.onOneLine)"
    if let number { state += "\nERRNO=\(number)" }
    ServiceNotification.send(state)
  }
}
