/// The sections `[socket PATH]`.
extension ConfigurationReader {
  mutating func readSocket(_ section: INISection) {
    let path = socketPath(in: section)
    var settings = SocketSettings(path: path ?? UnixSocketPath(""), position: section.position)
    assign(ConfigurationSchema.socket, from: section, to: &settings)
    socketSections.append((settings, section))
    if path != nil { keep(settings) }
    if socketSections.count == Limits.Configuration.sockets + 1 {
      diagnostics.error(
        at: section.position, "more than \(Limits.Configuration.sockets) sockets with a cap")
    }
  }

  /// The path in a header. If there is none or it is wrong, reports an error and returns nil.
  private mutating func socketPath(in section: INISection) -> UnixSocketPath? {
    let words = section.words.dropFirst()
    let fault: String
    if words.count == 1 {
      let path = UnixSocketPath(section.words[1])
      guard let wrong = path.fault else { return path }
      fault = wrong
    } else if words.isEmpty {
      fault = "a path must follow: \(SectionKind.socket.header)"
    } else {
      fault = "the path is one word, without blanks: choose another one"
    }
    diagnostics.error(at: section.position, "\(section.title.singleQuoted): \(fault)")
    return nil
  }

  /// Called once all profiles are known.
  mutating func checkSockets() {
    for (settings, section) in socketSections { checkProfiles(of: settings, section) }
    let sockets = socketSections.map(\.settings).filter { !$0.path.bytes.isEmpty }
    for (index, later) in sockets.enumerated() {
      guard
        let earlier = sockets[..<index].first(where: { $0.sharesFolder(with: later) })
      else { continue }
      diagnostics.error(at: later.position, later.sharedFolder(with: earlier))
    }
  }

  private mutating func checkProfiles(of socket: SocketSettings, _ section: INISection) {
    let position = section.position(of: "profiles")
    var seen: Set<String> = []
    for name in socket.profiles {
      if !seen.insert(name).inserted {
        diagnostics.error(at: position, "profiles: \(name.singleQuoted) occurs twice")
      } else if profileHeaders[name] == nil {
        diagnostics.error(
          at: position,
          "profiles: there is no [profile \(name)]"
            + NearestName.suggestion(name, in: profileHeaders.keys.sorted()))
      }
    }
  }
}

extension SocketSettings {
  /// Whether who has one of the two folders mounted has both sockets.
  func sharesFolder(with other: SocketSettings) -> Bool {
    path.sharesFolder(with: other.path) || other.path.sharesFolder(with: path)
  }

  /// The error of two sockets in one folder.
  ///
  /// - Parameter other: the other socket, in words.
  func sharedFolder(with other: String) -> String {
    "\(title): \(other) is in the same folder, or in one below, and who gets a folder mounted gets both: "
      + "give each socket a folder of its own"
  }

  fileprivate func sharedFolder(with other: SocketSettings) -> String {
    sharedFolder(with: "\(other.title) of \(other.position)")
  }
}
