import COpenSSL
import Foundation

/// Why a key can't be used.
package struct KeyError: Error, Hashable, Sendable {
    package let message: String
}

/// Half of a key pair for ECDSA on P-256 (FIPS 186-4), as server-to-server requests use it.
///
/// libcrypto's key is counted and never changed after it was read, so that threads can share it.
package final class SigningKey: @unchecked Sendable {
    private let key: OpaquePointer
    /// Whether it can sign, and not only verify.
    package let isPrivate: Bool

    private init(key: OpaquePointer, isPrivate: Bool) {
        self.key = key
        self.isPrivate = isPrivate
    }

    deinit { EVP_PKEY_free(key) }

    /// Reads a key from PEM: a private one, or a public one.
    ///
    /// - Throws: `KeyError` if it is none, or not on P-256.
    package convenience init(pem: String) throws(KeyError) {
        let isPrivate = pem.contains("PRIVATE KEY-----")
        let bytes = Array(pem.utf8)
        guard let bio = BIO_new_mem_buf(bytes, Int32(clamping: bytes.count)) else {
            throw KeyError(message: "There is no memory for the key.")
        }
        defer { BIO_free(bio) }
        // The callbacks give no password, so that an encrypted key asks nobody at a terminal.
        let key =
            isPrivate
            ? PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in 0 }, nil)
            : PEM_read_bio_PUBKEY(bio, nil, { _, _, _, _ in 0 }, nil)
        ERR_clear_error()
        guard let key else {
            throw KeyError(message: "This is no key in PEM, or it is encrypted. Give it as it is.")
        }
        self.init(key: key, isPrivate: isPrivate)
        guard Self.curveName(of: key) == "prime256v1" else {
            throw KeyError(message: "The key is not one of the curve prime256v1 (P-256).")
        }
    }

    /// Makes a private key.
    package static func generate() -> SigningKey {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else {
            preconditionFailure("libcrypto has no elliptic curves.")
        }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1,
            EVP_PKEY_CTX_set_group_name(context, "prime256v1") == 1,
            EVP_PKEY_generate(context, &key) == 1, let key
        else { preconditionFailure("libcrypto has no P-256.") }
        return SigningKey(key: key, isPrivate: true)
    }

    private static func curveName(of key: OpaquePointer) -> String {
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1 else { return "" }
        return String(decoding: name.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The signature of a message, ECDSA with SHA-256, in DER; the key has to be a private one.
    package func sign(_ message: [UInt8]) throws(KeyError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else {
            throw KeyError(message: "There is no memory for a signature.")
        }
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: 128)
        var count = signature.count
        guard isPrivate, EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, &signature, &count, message, message.count) == 1
        else {
            ERR_clear_error()
            throw KeyError(message: "The key can't sign. Give the private key.")
        }
        return Array(signature.prefix(count))
    }

    /// Whether a signature in DER is this key's for a message.
    package func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// The private key in PEM; the public one if it is no more.
    package var pem: String {
        guard let bio = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(bio) }
        let status =
            isPrivate
            ? PEM_write_bio_PKCS8PrivateKey(bio, key, nil, nil, 0, nil, nil)
            : PEM_write_bio_PUBKEY(bio, key)
        return status == 1 ? Self.text(of: bio) : ""
    }

    /// The public key in PEM.
    package var publicPEM: String {
        guard let bio = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(bio) }
        return PEM_write_bio_PUBKEY(bio, key) == 1 ? Self.text(of: bio) : ""
    }

    private static func text(of bio: OpaquePointer) -> String {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = BIO_read(bio, &bytes, Int32(bytes.count))
        return String(decoding: bytes.prefix(max(0, Int(count))), as: UTF8.self)
    }
}
