import Foundation
import WireCrypto

/// What a change token stands for, and its text, which says nothing to a client.
///
/// 45 bytes in base64: kind (1), epoch (8), owner (4), origin (8), sequence (8), all big-endian, and
/// the first 16 of an HMAC-SHA-256 over them with the hub's key.
struct FeedToken: Hashable, Sendable {
    enum Kind: UInt8, Sendable {
        case zone = 1
        case database = 2
    }

    /// Why text is no token that counts.
    enum Failure: Error, Hashable {
        /// It is no text that this hub gave out.
        case invalidFormat
        /// It is one of something else, or of before a restore, or too old.
        case unknown
    }

    private static let payloadBytes = 29
    private static let macBytes = 16

    var kind: Kind
    /// The number of the zone or of the database.
    var owner: UInt32
    /// Where the feed stood when the fetch that led to this token began. Tombstones up to there
    /// don't matter to its holder.
    var origin: UInt64
    /// The position up to which the holder has seen the feed.
    var sequence: UInt64

    /// The token as clients carry it.
    func text(_ state: StateRow) -> String {
        let payload = payload(state)
        let mac = Digest.hmac(payload, key: state.tokenKey).prefix(Self.macBytes)
        return Data(payload + mac).base64EncodedString()
    }

    private func payload(_ state: StateRow) -> [UInt8] {
        var key = [kind.rawValue]
        withUnsafeBytes(of: state.epoch.bigEndian) { key.append(contentsOf: $0) }
        withUnsafeBytes(of: owner.bigEndian) { key.append(contentsOf: $0) }
        withUnsafeBytes(of: origin.bigEndian) { key.append(contentsOf: $0) }
        withUnsafeBytes(of: sequence.bigEndian) { key.append(contentsOf: $0) }
        return key
    }

    init(_ kind: Kind, owner: UInt32, origin: UInt64, sequence: UInt64) {
        self.kind = kind
        self.owner = owner
        self.origin = origin
        self.sequence = sequence
    }

    /// Reads a token of a feed that stands at `position` and has lost tombstones up to `floor`.
    init(
        _ text: String, _ kind: Kind, owner: UInt32, position: UInt64, floor: UInt64,
        _ state: StateRow
    ) throws(Failure) {
        guard let data = Data(base64Encoded: text),
            data.count == Self.payloadBytes + Self.macBytes
        else { throw .invalidFormat }
        let bytes = Array(data)
        let mac = Digest.hmac(Array(bytes.prefix(Self.payloadBytes)), key: state.tokenKey)
        guard Digest.isEqual(Array(mac.prefix(Self.macBytes)), Array(bytes.suffix(Self.macBytes)))
        else { throw .unknown }
        func number(_ range: Range<Int>) -> UInt64 {
            bytes[range].reduce(0) { $0 << 8 | UInt64($1) }
        }
        self.kind = kind
        self.owner = owner
        origin = number(13..<21)
        sequence = number(21..<29)
        guard bytes[0] == kind.rawValue, number(1..<9) == state.epoch,
            number(9..<13) == UInt64(owner), sequence <= position,
            max(origin, sequence) >= floor
        else { throw .unknown }
    }
}
