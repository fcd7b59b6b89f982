import Glibc

/// The one owner of a file descriptor.
struct Descriptor: ~Copyable {
  let number: CInt

  init(owning number: CInt) {
    self.number = number
  }

  deinit { close(number) }
}
