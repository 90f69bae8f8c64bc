import BackstitchCore
import Foundation
import WireCrypto

/// What a change token stands for, and its text, which says nothing to a client.
///
/// 53 bytes in base64: kind (1), epoch (8), partition of the database (8), zone (4; 0 for the database),
/// origin (8), sequence (8), all big-endian, and the first 16 of an HMAC-SHA-256 over them with the
/// hub's key. Those of format 1 have 45: they lack the partition, and the number of a database stands for
/// the zone. They count on, since numbers of databases and of zones up to ``StateRow/lastZone`` were given
/// once in the whole hub.
struct FeedToken: Hashable, Sendable {
    enum Kind: UInt8, Sendable {
        case zone = 1
        case database = 2
    }

    /// Why text is no token that counts.
    enum Failure: Error, Hashable {
        /// It is no text that this hub gave out.
        case invalidFormat
        /// It is one of something else, or too old.
        case unknown
        /// It was given out before the hub was restored from a backup.
        case otherEpoch
    }

    private static let payloadBytes = 37
    private static let payloadBytesOfFormat1 = 29
    private static let macBytes = 16

    var kind: Kind
    /// Of the database.
    var partition: Partition
    /// The number of the zone; 0 for the database.
    var zone: UInt32
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
        key += state.epoch.bigEndianBytes
        key += partition.number.bigEndianBytes
        key += zone.bigEndianBytes
        key += origin.bigEndianBytes
        key += sequence.bigEndianBytes
        return key
    }

    init(
        _ kind: Kind, _ partition: Partition, zone: UInt32 = 0, origin: UInt64, sequence: UInt64
    ) {
        self.kind = kind
        self.partition = partition
        self.zone = zone
        self.origin = origin
        self.sequence = sequence
    }

    /// The position that a text tells if it is a token, of which nothing was checked yet; nil if it can't
    /// be one.
    static func position(_ text: String) -> UInt64? {
        guard let data = Data(base64Encoded: text),
            [payloadBytes, payloadBytesOfFormat1].contains(data.count - macBytes)
        else { return nil }
        return data.dropLast(macBytes).suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Reads a token of a feed that stands at `position` and has lost tombstones up to `floor`.
    init(
        _ text: String, _ kind: Kind, _ partition: Partition, zone: UInt32, position: UInt64,
        floor: UInt64, _ state: StateRow
    ) throws(Failure) {
        guard let data = Data(base64Encoded: text) else { throw .invalidFormat }
        let payload = Array(data.dropLast(Self.macBytes))
        let isOfFormat1 = payload.count == Self.payloadBytesOfFormat1
        guard isOfFormat1 || payload.count == Self.payloadBytes else { throw .invalidFormat }
        let mac = Digest.hmac(payload, key: state.tokenKey)
        guard Digest.isEqual(Array(mac.prefix(Self.macBytes)), Array(data.suffix(Self.macBytes)))
        else { throw .unknown }
        func number(_ range: Range<Int>) -> UInt64 {
            payload[range].reduce(0) { $0 << 8 | UInt64($1) }
        }
        let isOfFeed =
            if isOfFormat1 {
                number(9..<13) == (kind == .zone ? UInt64(zone) : partition.number)
                    && zone <= state.lastZone
            } else {
                number(9..<17) == partition.number && number(17..<21) == UInt64(zone)
            }
        let positions = isOfFormat1 ? 13 : 21
        self.init(
            kind, partition, zone: zone, origin: number(positions..<positions + 8),
            sequence: number(positions + 8..<positions + 16))
        guard payload[0] == kind.rawValue, isOfFeed else { throw .unknown }
        guard number(1..<9) == state.epoch else { throw .otherEpoch }
        guard sequence <= position, max(origin, sequence) >= floor else { throw .unknown }
    }
}

extension FeedToken {
    /// The token of a holder who has seen all of a zone's feed.
    init(endOf zone: ZoneRow, in partition: Partition) {
        self.init(
            .zone, partition, zone: zone.number, origin: zone.sequence, sequence: zone.sequence)
    }
}
