import CredCore

extension StringProtocol {
  /// Percent-encoded UTF-8 as plain text; nil if the text is not percent-encoded UTF-8.
  ///
  /// - Parameter isForm: a plus stands for a blank.
  public func percentDecoded(isForm: Bool = false) -> String? {
    PercentEncoding.decode(utf8, isForm: isForm).flatMap { String(validating: $0, as: UTF8.self) }
  }
}
