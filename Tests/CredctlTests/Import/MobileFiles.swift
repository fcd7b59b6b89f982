/// Files as the documentation of the mobile SDKs and of Amplify shows them, with ids in place of
/// placeholders.
enum MobileFiles {
  static let pool = "us-east-1:11111111-2222-3333-4444-555555555555"
  static let other = "eu-west-1:99999999-2222-3333-4444-555555555555"

  static let mobileSDK = """
    {
      "UserAgent": "MobileHub/1.0",
      "Version": "1.0",
      "IdentityManager": {"Default": {}},
      "CredentialsProvider": {
        "CognitoIdentity": {
          "Default": {
            "PoolId": "\(pool)",
            "Region": "us-east-1"
          }
        }
      },
      "CognitoUserPool": {
        "Default": {
          "PoolId": "us-east-1_aB1cD2eF3",
          "AppClientId": "1example23456789",
          "AppClientSecret": "9example87654321",
          "Region": "us-east-1"
        }
      },
      "FacebookSignIn": {"AppId": "123456789", "Permissions": "public_profile"},
      "GoogleSignIn": {"Permissions": "email,profile,openid", "ClientId-WebApp": "x.apps"},
      "S3TransferUtility": {"Default": {"Bucket": "b", "Region": "us-east-1"}}
    }
    """

  /// - Parameters:
  ///   - oauth: members of `Auth.Default.OAuth`.
  ///   - hasUserPool: whether the file has a user pool.
  static func browser(_ oauth: String, hasUserPool: Bool = true) -> String {
    let users = """
      "CognitoUserPool": {
        "Default": {"PoolId": "us-east-1_aB1cD2eF3", "AppClientId": "1example23456789",
          "Region": "us-east-1"}
      },
      """
    return """
      {
        "CredentialsProvider": {
          "CognitoIdentity": {"Default": {"PoolId": "\(pool)", "Region": "us-east-1"}}
        },
        \(hasUserPool ? users : "")
        "Auth": {"Default": {"OAuth": {\(oauth)}}}
      }
      """
  }

  /// As the guide of AWSMobileClient has it.
  static let hostedUI = browser(
    """
    "WebDomain": "example.auth.us-west-2.amazoncognito.com", "AppClientId": "1example23456789",
    "AppClientSecret": "9example87654321", "SignInRedirectURI": "myapp://",
    "SignOutRedirectURI": "myapp://", "Scopes": ["openid", "email"]
    """)

  static let auth0 = browser(
    """
    "AppClientId": "aB0-client", "WebDomain": "example.auth0.com",
    "TokenURI": "https://example.auth0.com/oauth/token",
    "SignInURI": "https://example.auth0.com/authorize",
    "SignInRedirectURI": "com.example.app://example.auth0.com/ios/com.example.app/callback",
    "SignOutURI": "https://example.auth0.com/v2/logout",
    "SignInURIQueryParameters": {"connection": "staff", "state": "mine"},
    "SignOutURIQueryParameters": {
      "client_id": "aB0-client", "federated": "yes",
      "returnTo": "com.example.app://example.auth0.com/ios/com.example.app/callback"
    },
    "Scopes": ["openid", "email"]
    """, hasUserPool: false)

  static let amplify = """
    {
      "UserAgent": "aws-amplify-cli/2.0",
      "Version": "1.0",
      "auth": {
        "plugins": {
          "awsCognitoAuthPlugin": {
            "UserAgent": "aws-amplify-cli/0.1.0",
            "Version": "0.1.0",
            "IdentityManager": {"Default": {}},
            "CredentialsProvider": {
              "CognitoIdentity": {"Default": {"PoolId": "\(pool)", "Region": "us-east-1"}}
            },
            "CognitoUserPool": {
              "Default": {
                "PoolId": "us-east-1_aB1cD2eF3", "AppClientId": "1example23456789",
                "Region": "us-east-1"
              }
            },
            "Auth": {"Default": {"authenticationFlowType": "USER_SRP_AUTH"}}
          }
        }
      }
    }
    """

  static let javaScript = """
    {
      "aws_project_region": "us-east-1",
      "aws_cognito_identity_pool_id": "\(pool)",
      "aws_cognito_region": "us-east-1",
      "aws_user_pools_id": "us-east-1_aB1cD2eF3",
      "aws_user_pools_web_client_id": "1example23456789",
      "oauth": {}
    }
    """

  static func outputs(guests: String = "true", version: String = "1.3") -> String {
    """
    {
      "version": "\(version)",
      "auth": {
        "aws_region": "us-east-1",
        "user_pool_id": "us-east-1_aB1cD2eF3",
        "user_pool_client_id": "1example23456789",
        "identity_pool_id": "\(pool)",
        "unauthenticated_identities_enabled": \(guests),
        "password_policy": {"min_length": 8, "require_numbers": true},
        "mfa_methods": []
      },
      "data": {"url": "https://example.appsync-api.us-east-1.amazonaws.com/graphql"}
    }
    """
  }

  /// `CognitoIdentity` and `CognitoUserPool` of an `awsconfiguration.json`.
  static func pools(_ identity: String, users: String = "{}") -> String {
    """
    {"CredentialsProvider":{"CognitoIdentity":\(identity)},"CognitoUserPool":\(users)}
    """
  }
}
