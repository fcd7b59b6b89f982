public import CLinux
public import CredCore

extension EndpointAddress {
  public init(_ name: credd_tcp_name) {
    self.init(
      name.is_ipv6 ? .ipv6 : .ipv4(name.ipv4.1, name.ipv4.2, name.ipv4.3), port: name.port)
  }
}

extension credd_tcp_name {
  public init(_ address: EndpointAddress) {
    self.init()
    port = address.port
    switch address.host {
    case .ipv4(let b, let c, let d): ipv4 = (127, b, c, d)
    case .ipv6: is_ipv6 = true
    }
  }
}
