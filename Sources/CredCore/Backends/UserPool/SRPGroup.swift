/// The group of SRP in Cognito user pools: the 3072-bit prime of RFC 3526, group 15, but with 2 as
/// generator (aws-sdk-ios, aws-sdk-android, amplify-js and pycognito have the same).
public enum SRPGroup {
  /// Big-endian, ``byteCount`` bytes.
  public static let prime = Hex.decode(digits.utf8) ?? []
  public static let generator: UInt8 = 2
  /// `k = H(pad(N) | pad(g))`: 32 bytes.
  public static let multiplier =
    Hex.decode("538282c4354742d7cbbde2359fcf67f9f5b3a6b08791e5011b43b8a5b66d9ee6".utf8) ?? []
  /// The length of the prime in bytes.
  public static let byteCount = 384

  private static let digits = """
    FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD\
    EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED\
    EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F\
    83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B\
    E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA0510\
    15728E5A8AAAC42DAD33170D04507A33A85521ABDF1CBA64ECFB850458DBEF0A8AEA71575D060C7DB3970F85A6E1E4C7\
    ABF5AE8CDB0933D71E8C94E04A25619DCEE3D2261AD2EE6BF12FFA06D98A0864D87602733EC86A64521F2B18177B200C\
    BBE117577A615D6C770988C0BAD946E208E24FA074E5AB3143DB5BFCE0FD108E4B82D120A93AD2CAFFFFFFFFFFFFFFFF
    """
}

/// The two computations of an SRP client with large numbers, implemented by the runtime.
///
/// Computing a power takes some milliseconds, so everything that computes one runs on a thread: see
/// `BackgroundLane.proofs` of the service.
public protocol SRPArithmetic: Sendable {
  /// `g^exponent mod N`, big-endian, in ``SRPGroup/byteCount`` bytes.
  func power(_ exponent: Secret) -> Secret
  /// `(B - k·g^x)^(a + u·x) mod N`, likewise; nil if the base or the result is zero.
  func sharedSecret(_ terms: SRPTerms) -> Secret?
}

/// The functions that an SRP proof needs.
public typealias SRPCrypto = Digests & SRPArithmetic

/// The numbers from which a shared secret is computed, big-endian.
public struct SRPTerms: Sendable, Equatable {
  /// `a`, from 1 on.
  public let privateValue: Secret
  /// `B`, from 1 to N - 1, in ``SRPGroup/byteCount`` bytes.
  public let serverValue: Secret
  /// `u`: 32 bytes, not all zero.
  public let scramble: Secret
  /// `x`: 32 bytes.
  public let passwordHash: Secret
}
