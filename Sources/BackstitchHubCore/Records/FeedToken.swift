import BackstitchCore
import CloudKitWire
import Foundation
import WireCrypto

/// What a change token stands for, and its text, which says nothing to a client.
///
/// 69 bytes in base64: kind (1), epoch (8), partition of the database (8), zone (4; 0 for the database),
/// origin (8), sequence (8), run (8) and sequence (8) of the database's last commit that its holder may know
/// of, all big-endian, and the first 16 of an HMAC-SHA-256 over them with the hub's key.
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
        /// It is one of another database, or was given out before whoever runs the hub began another epoch.
        case otherEpoch
        /// Its holder may know of commits that the hub lost.
        case lostHistory
    }

    private static let payloadBytes = 53
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
    /// The last commit of the database when the token was given out. The holder may have seen changes of this
    /// commit and of earlier ones, and may have missed other changes of the same commits.
    var mark: FeedMark

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
        key += mark.run.bigEndianBytes
        key += mark.sequence.bigEndianBytes
        return key
    }

    init(
        _ kind: Kind, _ partition: Partition, zone: UInt32 = 0, origin: UInt64, sequence: UInt64,
        mark: FeedMark
    ) {
        self.kind = kind
        self.partition = partition
        self.zone = zone
        self.origin = origin
        self.sequence = sequence
        self.mark = mark
    }

    /// The position that a text tells if it is a token, of which nothing was checked yet; nil if it can't
    /// be one.
    static func position(_ text: String) -> UInt64? {
        guard let data = Data(base64Encoded: text) else { return nil }
        let payload = Array(data.dropLast(macBytes))
        guard payload.count == payloadBytes else { return nil }
        return payload[29..<37].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Reads a token of this hub. ``check(_:in:)`` says whether it counts for a feed.
    init(
        _ text: String, _ kind: Kind, _ partition: Partition, _ state: StateRow
    ) throws(Failure) {
        guard let data = Data(base64Encoded: text) else { throw .invalidFormat }
        let payload = Array(data.dropLast(Self.macBytes))
        guard payload.count == Self.payloadBytes else { throw .invalidFormat }
        let mac = Digest.hmac(payload, key: state.tokenKey)
        guard Digest.isEqual(Array(mac.prefix(Self.macBytes)), Array(data.suffix(Self.macBytes)))
        else { throw .unknown }
        func number(_ range: Range<Int>) -> UInt64 {
            payload[range].reduce(0) { $0 << 8 | UInt64($1) }
        }
        guard payload[0] == kind.rawValue else { throw .unknown }
        // Numbers of databases are given again once they are lost.
        guard number(9..<17) == partition.number else { throw .otherEpoch }
        self.init(
            kind, partition, zone: UInt32(number(17..<21)), origin: number(21..<29),
            sequence: number(29..<37),
            mark: FeedMark(run: number(37..<45), sequence: number(45..<53)))
        guard number(1..<9) == state.epoch else { throw .otherEpoch }
    }

    /// A feed, as tokens are checked against it.
    struct Feed {
        /// The number of the zone; 0 for the database.
        var zone: UInt32
        /// Up to where it lost tombstones.
        var floor: UInt64
        var database: DatabaseRow
    }

    /// Throws if the token does not count for a feed: its holder may know of a commit that is not in the
    /// feed's history, or it is too old, or of another feed.
    func check(_ feed: Feed, in transaction: any HubReading) throws {
        guard try isOfHistory(feed, transaction) else { throw Failure.lostHistory }
        guard zone == feed.zone, max(origin, sequence) >= feed.floor else { throw Failure.unknown }
    }

    /// Whether all that the holder may know of is in a feed's history.
    ///
    /// If the run is not kept any more, the answer is unknown, and counts as no. The holder then sends its records:
    /// what others deleted may come back, but no record is lost.
    private func isOfHistory(_ feed: Feed, _ transaction: any HubReading) throws -> Bool {
        // There was nothing to know before the first commit.
        if mark.sequence == 0 { return true }
        if mark.run == feed.database.run { return mark.sequence <= feed.database.sequence }
        return try transaction.history(of: partition).holds(mark)
    }
}

extension FeedToken {
    /// The token of a holder who has seen all of a zone's feed.
    init(endOf zone: ZoneRow, of database: DatabaseRow, in partition: Partition) {
        self.init(
            .zone, partition, zone: zone.number, origin: zone.sequence, sequence: zone.sequence,
            mark: database.mark)
    }
}

extension FeedToken {
    /// Reads a token of a zone's feed; of the database's list of changed zones if the zone is nil.
    static func read(
        _ text: String, of zone: ZoneRow?, _ database: DatabaseRow, _ access: DatabaseAccess,
        _ state: StateRow, _ transaction: any HubReading, _ watch: HistoryWatch
    ) throws -> FeedToken {
        let feed = FeedToken.Feed(
            zone: zone?.number ?? 0, floor: zone?.floor ?? database.floor, database: database)
        do {
            let token = try FeedToken(
                text, zone == nil ? .database : .zone, access.partition, state)
            try token.check(feed, in: transaction)
            return token
        } catch let error as FeedToken.Failure {
            if error == .lostHistory { watch.noteLoss() }
            switch error {
            case .invalidFormat: throw WireError(.badRequest, "Invalid continuation format")
            case .otherEpoch where zone != nil, .lostHistory where zone != nil:
                // The zone that the client knows is lost, and another one is there by its name. So a
                // client sends what it has; of an expired token it would take what is missing for
                // deleted, and a restore would take it from all devices.
                throw WireError(.zoneNotFound, "Zone does not exist")
            case .unknown, .otherEpoch, .lostHistory:
                throw WireError(.badRequest, "Unknown sync continuation type")
            }
        }
    }
}
