/// Lets so many tests run at once and the others wait: each has a few processes of its own.
actor TestLimit {
  static let shared = TestLimit(width: 12)

  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  private init(width: Int) {
    free = width
  }

  func enter() async {
    if free > 0 {
      free -= 1
    } else {
      await withCheckedContinuation { waiting.append($0) }
    }
  }

  func leave() {
    if waiting.isEmpty {
      free += 1
    } else {
      waiting.removeFirst().resume()
    }
  }
}
