import Foundation
import LMDB
import Threading

/// What was encoded or decoded last.
///
/// A process that opens many stores of few schemas, or reads again what it wrote, meets the same bytes
/// again and again, and to compare bytes costs far less than to decode their JSON.
final class CodingMemo<Value: Hashable & Sendable>: Sendable {
    private struct Known: Sendable {
        let bytes: [UInt8]
        let value: Value
    }

    private static var knownMax: Int { 32 }

    /// The last ones used, the latest at the end.
    private let known = Locked<[Known]>([])

    /// The bytes of a value, which is encoded where they are not known.
    func bytes(of value: Value, encode: (Value) throws -> [UInt8]) throws -> [UInt8] {
        if let known = find({ $0.value == value }) { return known.bytes }
        let bytes = try encode(value)
        add(Known(bytes: bytes, value: value))
        return bytes
    }

    /// The value of stored bytes, which are decoded where they are not known.
    func value(of bytes: [UInt8], decode: ([UInt8]) throws -> Value) throws -> Value {
        if let known = find({ $0.bytes == bytes }) { return known.value }
        let value = try decode(bytes)
        add(Known(bytes: bytes, value: value))
        return value
    }

    private func find(_ isSearched: (Known) -> Bool) -> Known? {
        known.withLock { known in
            guard let index = known.lastIndex(where: isSearched) else { return nil }
            let found = known[index]
            known.remove(at: index)
            known.append(found)
            return found
        }
    }

    private func add(_ new: Known) {
        known.withLock {
            $0.append(new)
            if $0.count > Self.knownMax { $0.removeFirst() }
        }
    }
}

extension Encodable {
    /// The JSON of it, with keys in order.
    func sortedJSON() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return Array(try encoder.encode(self))
    }
}
