import Threading
package import WireCrypto

/// Reads public keys, and may keep them.
package protocol KeyReading: Sendable {
    /// The key of PEM; nil if it can't be read.
    func key(pem: String) -> SigningKey?
}

/// Keeps parsed public keys: parsing one takes longer than verifying a signature.
final class KeyCache: KeyReading {
    private static let keysMax = 1_024

    private let keys = Locked<[String: SigningKey]>([:])

    /// The key of PEM; nil if it can't be read.
    package func key(pem: String) -> SigningKey? {
        if let key = keys.withLock({ $0[pem] }) { return key }
        guard let key = try? SigningKey(pem: pem) else { return nil }
        keys.withLock { keys in
            if keys.count >= Self.keysMax { keys = [:] }
            keys[pem] = key
        }
        return key
    }
}
