import CredCore

extension StringProtocol {
  /// Percent-encoded UTF-8 as plain text; nil where it is none.
  ///
  /// - Parameter isForm: a plus stands for a blank.
  public func percentDecoded(isForm: Bool = false) -> String? {
    PercentEncoding.decode(utf8, isForm: isForm).flatMap { String(validating: $0, as: UTF8.self) }
  }
}
