import WireCrypto

/// A request that a server key signed, as far as the signature counted.
struct SignedRequest: Hashable, Sendable {
    /// How much longer a signature is remembered than it counts, for requests that wait for their turn
    /// to write.
    static let graceMilliseconds: Int64 = 60_000

    /// Tells the signature from all others: the same for each form that it can be brought into.
    var identity: [UInt8]
    /// The SHA-256 of what was signed: date, body and path.
    var messageHash: [UInt8]
    /// Until when it has to be remembered, in milliseconds since 1970.
    var end: Int64

    /// - Parameters:
    ///   - signature: ECDSA in DER, checked. Negating its second number gives another signature that is
    ///     valid for the same message, and needs no key. The first number is the same in both, so that
    ///     one is compared.
    ///   - end: Until when it has to be remembered, in milliseconds since 1970.
    init(keyID: String, signature: [UInt8], message: [UInt8], end: Int64) {
        messageHash = Digest.sha256(message)
        let number = Self.firstNumber(of: signature)
        identity = Digest.sha256(
            Array("signature \(keyID) ".utf8) + messageHash + number)
        self.end = end
    }

    /// The first of the two numbers of a signature in DER, without zeros in front: a sequence (0x30)
    /// of two integers (0x02), each with its length in one byte.
    private static func firstNumber(of signature: [UInt8]) -> ArraySlice<UInt8> {
        guard signature.count > 4, signature[2] == 0x02 else { return signature[...] }
        let end = min(4 + Int(signature[3]), signature.count)
        return signature[4..<end].drop { $0 == 0 }
    }
}
