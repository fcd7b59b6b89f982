import AuthCore
import Foundation
import Testing

struct PasswordRulesTests {
  /// Those of the package.
  private static let list = Result {
    try Data(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../common-passwords"))
  }
  private static let shipped = Result { try PasswordRules(list: Array(try list.get())) }
  private var rules: PasswordRules { get throws { try Self.shipped.get() } }

  @Test(arguments: [
    "short", "password", "PASSWORD", "Password1!", "qwertyuiop", "11111111", "12345678", "hgfedcba",
    "iloveyou1", "Welcome2024", "alice-the-user", String(repeating: "x", count: 257),
  ])
  func weakPasswordsAreRefused(_ password: String) throws {
    #expect(try rules.fault(of: password, username: "Alice-the-User") != nil)
  }

  @Test(arguments: ["correct horse battery", "xk29 fjq2", "пароль из трёх слов", "aaaabbbb cc"])
  func othersAreTakenWithoutRulesAboutCharacters(_ password: String) throws {
    #expect(try rules.fault(of: password, username: "alice") == nil)
  }

  @Test(arguments: [
    "hello123", "michelle", "1q2w3e4r5t6y", "qwerty12345", "1qaz2wsx3edc", "147852369",
    "123456789a", "Summer2024!", "Winter2023!", "Pass@1234", "Admin@1234", "root1234", "abc@1234",
    "minecraft", "hellokitty", "cocacola", "a1234567", "12344321", "13579246", "25802580",
    "wolverine", "Corvette1999", "butthead", "snickers1", "Football2010!",
  ])
  func whatManyPeopleTakeIsRefused(_ password: String) throws {
    #expect(try rules.fault(of: password, username: "alice") != nil)
  }

  /// Also those of less than 8 characters, where they have 5 letters, with a tail.
  @Test func eachOfThePackagesIsRefused() throws {
    let words = String(decoding: try Self.list.get(), as: UTF8.self).split(separator: "\n")
    #expect(words.count > 2000)
    for word in words where word.count >= 8 {
      #expect(try rules.fault(of: String(word), username: "alice") != nil, "\(word)")
    }
    for word in words where word.count >= 5 && word.last?.isLetter == true {
      #expect(try rules.fault(of: word + "2024!", username: "alice") != nil, "\(word)")
    }
  }

  @Test func aListOfOnesOwnIsReadInAnyForm() throws {
    let rules = try PasswordRules(list: Array("\n Our Product \r\n\nSTRASSE\nblumentopf".utf8))
    for password in ["our product", "OUR PRODUCT1", "Straße2024", "blumentopf"] {
      #expect(rules.fault(of: password, username: "alice") != nil, "\(password)")
    }
    #expect(rules.fault(of: "iloveyou1", username: "alice") == nil)
    #expect(rules.fault(of: "12345678", username: "alice") != nil)
  }

  @Test func aDamagedListIsNamedByItsLine() {
    func fault(_ list: [UInt8]) -> String? {
      do throws(PasswordRules.BadLine) { _ = try PasswordRules(list: list) } catch {
        return "\(error.line): \(error.reason)"
      }
      return nil
    }
    let one = Array("one\n\n".utf8)
    let long = [UInt8](repeating: UInt8(ascii: "a"), count: 256)
    #expect(fault(one) == nil && fault(one + long) == nil)
    #expect(fault(one + [0xFF]) == "3: the password is not UTF-8")
    #expect(fault(one + [0x41, 0, 0x41]) == "3: the password holds a control character")
    #expect(fault(one + long + long) == "3: the password has more than 256 characters")
    #expect(fault([]) == "1: there is no password")
    #expect(fault(Array("\n \n".utf8)) == "1: there is no password")
  }
}
