import XXHash
import Foundation

/// Where the next page of a query's answer begins: after the last record of the page before.
///
/// It may be kept, sent and used in another process or on a later day, with the same query. What it
/// holds is no part of the interface; it is about as large as the values that the query sorts by.
public struct QueryCursor: Hashable, Sendable, Codable {
    /// The version of the stored form.
    static let version: UInt8 = 1

    package let position: QueryPosition
    /// The hash of the query that the place belongs to.
    package let fingerprint: UInt64
    /// The records of the answer in front of the place.
    package let count: Int

    package init(position: QueryPosition, fingerprint: UInt64, count: Int) {
        self.position = position
        self.fingerprint = fingerprint
        self.count = count
    }

    /// The stored form: version, lengths, parts, and the hash of all that.
    package var bytes: [UInt8] {
        var buffer = ByteBuffer()
        buffer.append(Self.version)
        buffer.append(little: fingerprint)
        buffer.append(little: UInt64(count))
        buffer.append(little: UInt32(position.firstEnd))
        for part in [position.values, position.indexValue, position.key] {
            buffer.append(little: UInt32(part.count))
            buffer.append(part)
        }
        unsafe buffer.append(little: Checksum.xxh64(buffer.bytes))
        return buffer.array
    }

    /// Reads the stored form; nil if the bytes are not a cursor of this version.
    package init?(bytes: [UInt8]) {
        let end = bytes.count - 8
        guard end >= 33, bytes[0] == Self.version,
            bytes.littleEndian(at: end) == Checksum.xxh64(Array(bytes[..<end])),
            let count = Int(exactly: bytes.littleEndian(UInt64.self, at: 9))
        else { return nil }
        var offset = 21
        var parts: [[UInt8]] = []
        for _ in 0..<3 {
            guard offset + 4 <= end else { return nil }
            let size = Int(bytes.littleEndian(UInt32.self, at: offset))
            offset += 4
            guard offset + size <= end else { return nil }
            parts.append(Array(bytes[offset..<offset + size]))
            offset += size
        }
        let firstEnd = Int(bytes.littleEndian(UInt32.self, at: 17))
        guard firstEnd <= parts[0].count, !parts[2].isEmpty else { return nil }
        self.init(
            position: QueryPosition(
                values: parts[0], firstEnd: firstEnd, indexValue: parts[1], key: parts[2]),
            fingerprint: bytes.littleEndian(at: 1), count: count)
    }

    /// Reads a cursor; throws `dataCorrupted` if it is damaged or of another version.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let data = Data(base64Encoded: text), let cursor = QueryCursor(bytes: [UInt8](data))
        else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "The cursor is damaged or of another version of Backstitch. "
                    + "Begin the query again without a cursor.")
        }
        self = cursor
    }

    /// Writes the cursor as one string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(bytes).base64EncodedString())
    }
}

extension RecordQuery {
    /// A hash that is the same in every process for the same query of the same attributes.
    package func fingerprint(in entity: EntityBinding) -> UInt64 {
        var text = "\(self.entity)|\(conditions)|\(limitCount ?? -1)|\(offsetCount)"
        for step in sortSteps {
            let resolved = try? QueryPlan.Step(step, in: entity)
            let type = resolved?.attribute?.type ?? resolved?.related?.attribute.type
            text += "|\(step.attribute ?? "")|\(step.isReversed)|\(type.map { "\($0)" } ?? "")"
        }
        return Checksum.xxh64(text)
    }

    /// The position that a cursor of this query stands for.
    ///
    /// - Throws: ``QueryError`` with code `foreignCursor` for the cursor of another query.
    package func position(of cursor: QueryCursor, in entity: EntityBinding) throws -> QueryPosition
    {
        guard cursor.fingerprint == fingerprint(in: entity) else {
            throw QueryError(
                .foreignCursor,
                "The cursor belongs to another query than this one of \(self.entity). Pass the "
                    + "query that the cursor was made with, or begin without a cursor.")
        }
        return cursor.position
    }
}
