/// A value that hardly ever is there, and then lies apart from its owner: sessions are many, and keep
/// no room for what few of them have.
@propertyWrapper
public struct Rare<Value: Sendable>: Sendable {
  private indirect enum Content {
    case none
    case some(Value)
  }

  private var content: Content

  public init(wrappedValue: Value?) {
    content = wrappedValue.map { .some($0) } ?? .none
  }

  public var wrappedValue: Value? {
    get { if case .some(let value) = content { value } else { nil } }
    set { content = newValue.map { .some($0) } ?? .none }
  }
}

extension Rare: Equatable where Value: Equatable {
  public static func == (one: Self, other: Self) -> Bool { one.wrappedValue == other.wrappedValue }
}
