import COpenSSL
package import Foundation

/// SHA-256 (FIPS 180-4), HMAC (RFC 2104) and comparing in constant time.
package enum Digest {
    /// The bytes of a SHA-256.
    package static let byteCount = 32

    /// The SHA-256 of bytes.
    package static func sha256(_ bytes: some ContiguousBytes) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: byteCount)
        var count: UInt32 = 0
        let status = bytes.withUnsafeBytes {
            EVP_Digest($0.baseAddress, $0.count, &digest, &count, EVP_sha256(), nil)
        }
        precondition(status == 1 && count == byteCount, "libcrypto has no SHA-256.")
        return digest
    }

    /// The SHA-256 of text.
    package static func sha256(_ text: String) -> [UInt8] { sha256(Array(text.utf8)) }

    /// The HMAC with SHA-256.
    package static func hmac(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: byteCount)
        var count: UInt32 = 0
        let result = HMAC(EVP_sha256(), key, Int32(key.count), bytes, bytes.count, &digest, &count)
        precondition(result != nil && count == byteCount, "libcrypto has no HMAC.")
        return digest
    }

    /// Whether two runs of bytes are the same, in a time that depends on their length only.
    package static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }
}

/// A SHA-256 of bytes that come piece by piece.
package struct RunningDigest: ~Copyable {
    private let context: OpaquePointer

    /// A digest of nothing so far.
    package init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1
        else { preconditionFailure("libcrypto has no SHA-256.") }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Adds bytes.
    package func update(_ bytes: UnsafeRawBufferPointer) {
        let status = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
        precondition(status == 1, "libcrypto failed to go on with a SHA-256.")
    }

    /// The digest of all that was added so far.
    package var value: [UInt8] {
        guard let copy = EVP_MD_CTX_new() else {
            preconditionFailure("There is no memory for a SHA-256.")
        }
        defer { EVP_MD_CTX_free(copy) }
        var digest = [UInt8](repeating: 0, count: Digest.byteCount)
        var count: UInt32 = 0
        let isDone =
            EVP_MD_CTX_copy_ex(copy, context) == 1 && EVP_DigestFinal_ex(copy, &digest, &count) == 1
        precondition(isDone, "libcrypto failed to end a SHA-256.")
        return digest
    }
}
