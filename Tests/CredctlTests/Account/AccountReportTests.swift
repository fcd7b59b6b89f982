import CredCore
import CredctlKit
import TestSupport
import Testing

struct AccountReportTests {
  private let display = TextTable.Display(width: nil, hasColour: false)

  private func reply(_ text: String) throws -> JSONValue { try JSONValue.parse(Array(text.utf8)) }

  @Test func saysWhereTheCodeOfASignUpWent() throws {
    let asked = try reply(
      #"{"Confirmed":false,"Delivery":{"Medium":"EMAIL","Destination":"a***@e***"}}"#)
    expect(
      AccountReport.signedUp(asked, "staff", username: "al ice"),
      equals: "a code was sent by e-mail to a***@e***; confirm the account with 'credctl account "
        + "staff confirm --username 'al ice''\n")
    expect(
      AccountReport.signedUp(try reply("{}"), "staff", username: "a"),
      equals: "the account is there; sign in with 'credctl login --profile staff --username a'\n")
  }

  @Test func namesTheAddressThatIsToBeProved() throws {
    for (medium, name) in [("EMAIL", "email"), ("SMS", "phone_number")] {
      let sent = try reply(#"{"Delivery":{"Medium":"\#(medium)","Destination":"x***"}}"#)
      expect(
        AccountReport.attributesSet(sent, "staff")
          .hasSuffix("; then 'credctl account staff verify-attribute \(name) --have-code'\n"))
    }
    expect(
      AccountReport.attributesSet(try reply("{}"), "staff"), equals: "the attributes are changed\n")
  }

  @Test func showsAttributesAndSecondFactors() throws {
    let text = AccountReport.account(
      try reply(
        #"{"Username":"alice","Attributes":{"email":"a@b.c\u001b[31m","sub":"1"},"#
          + #""Mfa":{"Preferred":"SMS_MFA","Enabled":["SMS_MFA","SOFTWARE_TOKEN_MFA"]}}"#),
      on: display)
    expect(
      text,
      equals: """
        account alice
        second factors: SMS_MFA (preferred), SOFTWARE_TOKEN_MFA

        ATTRIBUTE  VALUE
        email      a@b.c[31m
        sub        1

        """)
  }

  @Test func listsDevicesOfAllPages() throws {
    var pages = AccountPages(of: .devices)
    try pages.add(
      try reply(
        #"{"Devices":[{"Device":"r_1","Name":"host","Created":"2026-01-01T00:00:00Z","#
          + #""LastUsed":"2026-01-01T00:50:00Z","Remembered":false,"This":true}],"Next":"n"}"#))
    expect(pages.next, equals: "n")
    try pages.add(try reply(#"{"Devices":[{"Device":"r_2"}]}"#))
    let now = try #require(WallTime(iso8601: "2026-01-01T01:00:00Z"))
    let text = pages.rendered(on: display, now: now)
    expect(
      text.contains("r_1     host  60 min ago  10 min ago  -        no          yes"), "\(text)")
    expect(text.contains("r_2     -"))
    expect(AccountPages(of: .devices).rendered(on: display, now: now), equals: "no devices\n")
  }

  @Test func aDeviceOnWhichTheSignInStoodIsSaid() throws {
    expect(
      AccountReport.deviceForgotten(try reply("{}"), "work"), equals: "the device is forgotten\n")
    expect(
      AccountReport.deviceForgotten(try reply(#"{"State":"signedOut"}"#), "wo rk"),
      equals: """
        the device is forgotten; it was that of this sign-in, which has ended: sign in again with \
        'credctl login --profile 'wo rk''

        """)
  }

  @Test func pagesWithoutAnEndAreAFault() throws {
    var pages = AccountPages(of: .devices)
    try pages.add(try reply(#"{"Devices":[],"Next":"n"}"#))
    #expect(throws: Failure.self) { try pages.add(try reply(#"{"Devices":[],"Next":"n"}"#)) }
  }
}
