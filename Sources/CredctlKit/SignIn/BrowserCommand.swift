/// A program that opens a URL in the user's browser.
public struct BrowserCommand: Sendable, Equatable {
  /// `%s` stands for the URL; without it the URL is the last word.
  private let words: [String]

  init(_ words: [String]) {
    self.words = words
  }

  /// The words to run. No shell reads them.
  public func words(for url: String) -> [String] {
    // A quotation mark would end PowerShell's word; `%27` means the same in a URL.
    let url = url.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "%27")
    let placeholder = "%s"
    guard words.contains(where: { $0.contains(placeholder) }) else { return words + [url] }
    return words.map { word in
      var parts: [Substring] = []
      var rest = word[...]
      while let range = rest.firstRange(of: placeholder) {
        parts.append(rest[..<range.lowerBound])
        rest = rest[range.upperBound...]
      }
      return (parts + [rest]).joined(separator: url)
    }
  }

  /// The commands that may open a browser here, in the order to try; empty if no browser is
  /// possible.
  ///
  /// - Parameters:
  ///   - given: the value of `--browser-command`.
  ///   - kernel: the kernel's release, by which Windows' kernel is recognised.
  ///   - isRoot: whether credctl runs as root. If another user became root, as by sudo, the
  ///     environment may be that user's, and none of its programs must run as root without being
  ///     asked for.
  public static func candidates(
    given: String?, environment: (String) -> String?, kernel: String, isRoot: Bool = false
  ) -> [BrowserCommand] {
    if let given { return [BrowserCommand(split(given))].filter { !$0.words.isEmpty } }
    let callers = ["SUDO_UID", "PKEXEC_UID", "DOAS_USER"].compactMap(environment)
    if isRoot, callers.contains(where: { !["", "0", "root"].contains($0) }) { return [] }
    var commands: [BrowserCommand] = []
    // By custom a colon-separated list: each command is tried until one runs.
    if let list = environment("BROWSER") {
      commands += list.split(separator: ":").map { BrowserCommand(split(String($0))) }
        .filter { !$0.words.isEmpty }
    }
    if isWindows(kernel) {
      commands.append(BrowserCommand(["wslview"]))
      // Not `cmd /c start`, which ends a URL at its first `&`.
      commands.append(
        BrowserCommand([
          "powershell.exe", "-NoProfile", "-NonInteractive", "-Command", "Start-Process '%s'",
        ]))
    }
    if ["DISPLAY", "WAYLAND_DISPLAY"].contains(where: { environment($0)?.isEmpty == false }) {
      commands.append(BrowserCommand(["xdg-open"]))
    }
    return commands
  }

  /// Windows Subsystem for Linux, where Windows' browser is used.
  private static func isWindows(_ kernel: String) -> Bool {
    kernel.lowercased().contains("microsoft")
  }

  private static func split(_ text: String) -> [String] {
    text.split { $0 == " " || $0 == "\t" }.map(String.init)
  }
}
