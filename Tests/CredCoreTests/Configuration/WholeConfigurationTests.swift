import CredCore
import TestSupport
import Testing

/// A configuration with every kind of section, and a profile with every key that goes with the others.
struct WholeConfigurationTests {
  private static let text = """
    [daemon]
    max_connections = 4096
    max_connections_per_user = 64
    admin_group = adm
    metrics_users = prometheus

    [backend corp]
    type = http
    url = https://auth.example.com/cognito/token
    method = POST
    bearer_token_file = ${CREDENTIALS_DIRECTORY}/corp-token
    ca_file = /etc/ssl/corp.pem
    client_certificate = /etc/credd/host.pem
    client_key = /etc/credd/host.key
    unix_socket = /run/corp.sock
    header.X-Team = infra
    login_url = https://auth.example.com/login
    register_url = https://auth.example.com/register
    send_caller = no
    timeout = 5s

    [backend staff]
    type = user-pool
    user_pool_id = eu-west-1_AbCdEf123
    client_id = 2abc
    client_secret_file = ${CREDENTIALS_DIRECTORY}/staff-client
    auth_flow = srp
    remember_device = no
    account_actions = get change-password devices remember-device forget-device
    client_metadata = no
    user_pool_endpoint = http://127.0.0.1:4599
    domain = staff.auth.eu-west-1.amazoncognito.com
    redirect_uri = http://localhost:8976/
    identity_provider = Okta
    idp_identifier = okta.example.com
    scopes = openid email profile
    logout_redirect_uri = https://example.com/
    authorize.lang = de
    logout.lang = de

    [backend okta]
    type = oidc
    issuer = https://example.eu.auth0.com/
    client_id = 2abc
    client_authentication = private-key-jwt
    client_assertion_key_file = ${CREDENTIALS_DIRECTORY}/okta-key
    client_assertion_key_id = key-1
    sign_in = browser paste
    redirect_uri = http://127.0.0.1/
    provider_name = example.eu.auth0.com
    scopes = openid offline_access email
    authorize.audience = https://api.example.com/
    logout_redirect_uri = https://example.com/
    require.email = {user}@example.com
    authorization_endpoint = https://example.eu.auth0.com/authorize
    token_endpoint = https://example.eu.auth0.com/oauth/token
    device_authorization_endpoint = https://example.eu.auth0.com/oauth/device/code
    revocation_endpoint = https://example.eu.auth0.com/oauth/revoke
    end_session_endpoint = https://example.eu.auth0.com/oidc/logout

    [profile work]
    identity_pool_id = us-east-1:11111111-2222-3333-4444-555555555555
    developer_provider = login.example.app
    backend = corp
    link_backend = okta
    user_identifier = {user}
    flow = enhanced
    role_arn = arn:aws:iam::123456789012:role/work
    role_session_name = {user}
    duration = 1h
    guest = no
    allow_users = alice bob
    allow_groups = developers
    allow_units = billing.service
    vend_tokens = id access
    keep_warm = no
    forget_after = 30d
    impersonate_signed_in = no
    cognito_endpoint = http://127.0.0.1:4599
    sts_endpoint = http://127.0.0.1:4599

    [profile staff]
    identity_pool_id = eu-west-1:11111111-2222-3333-4444-555555555555
    backend = staff

    """

  @Test func everyKeyStandsBesideTheOthers() throws {
    let source = ConfigurationSource(name: "credd.conf", bytes: Array(Self.text.utf8))
    let reading = Configuration.read([source], environment: { _ in "/run/credentials/credd" })
    let errors = reading.diagnostics.filter { $0.severity == .error }
    expect(errors.isEmpty, "\(errors)")
    let configuration = try #require(reading.configuration)
    let settings = try #require(configuration.profiles["work"])
    let work = try Profile(settings, in: configuration) { _ in nil }
    expect(work.link?.backend?.name == "okta" && work.plan.keepsAccessToken)
    expect(try work.tokenKind(nil, holdsToken: false), equals: .developer)
    expect(try work.tokenKind(.id, holdsToken: false), equals: .id)
    expect(try work.tokenKind(.access, holdsToken: false), equals: .access)
  }
}
