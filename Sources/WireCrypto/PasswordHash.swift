import COpenSSL

/// What is kept of a password, so that whoever reads it has to guess: scrypt (RFC 7914) with a salt.
package struct PasswordHash: Hashable, Sendable {
    /// The bytes of a salt that ``init(_:salt:)`` is given.
    package static let saltByteCount = 16
    /// What one check takes up, in bytes, and some 100 ms of a processor: N 32,768, r 8, p 1.
    package static let checkBytes = 128 * Int(cost) * Int(blockSize)

    private static let cost: UInt64 = 32_768
    private static let blockSize: UInt64 = 8

    /// Another one for each password.
    package let salt: [UInt8]
    /// 32 bytes.
    package let hash: [UInt8]

    /// What was kept.
    package init(salt: [UInt8], hash: [UInt8]) {
        (self.salt, self.hash) = (salt, hash)
    }

    /// Makes what is kept of a password, with a salt that nobody can guess.
    package init(_ password: [UInt8], salt: [UInt8]) {
        self.init(salt: salt, hash: Self.hash(password, salt))
    }

    /// Whether a password is the one. It takes as long if it is not.
    package func matches(_ password: [UInt8]) -> Bool {
        Digest.isEqual(Self.hash(password, salt), hash)
    }

    private static func hash(_ password: [UInt8], _ salt: [UInt8]) -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: Digest.byteCount)
        let characters = password.map { CChar(bitPattern: $0) }
        let status = EVP_PBE_scrypt(
            characters, characters.count, salt, salt.count, cost, blockSize, 1,
            UInt64(2 * checkBytes), &hash, hash.count)
        precondition(status == 1, "libcrypto has no scrypt, or there is no memory for it.")
        return hash
    }
}
