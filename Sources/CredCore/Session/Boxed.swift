/// An optional stored out of line: nil costs one pointer. For parts that few of many sessions have.
@propertyWrapper
public struct Boxed<Value: Sendable>: Sendable {
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

extension Boxed: Equatable where Value: Equatable {
  public static func == (one: Self, other: Self) -> Bool { one.wrappedValue == other.wrappedValue }
}
