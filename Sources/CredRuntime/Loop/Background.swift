internal import Glibc

/// A thread for what may block: never Dispatch's, whose pool would stay for good.
enum SideThread {
  private final class Body {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
      self.run = run
    }
  }

  static func run(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
    let argument = unsafe Unmanaged.passRetained(Body(body))
    var thread = pthread_t()
    let failure = unsafe pthread_create(
      &thread, nil,
      { argument in
        guard let argument = unsafe argument else { return nil }
        unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, argument.toOpaque())
    guard failure == 0 else {
      unsafe argument.release()
      throw SystemError("start a thread", number: failure)
    }
    pthread_detach(thread)
  }
}
