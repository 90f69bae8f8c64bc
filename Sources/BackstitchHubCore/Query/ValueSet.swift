import BackstitchCore
import CloudKitWire
import Foundation

/// Values that are found by what they are equal to, as ``ValueOrder`` says, without a look at each.
struct ValueSet {
    /// Equal values have the same key. Those of one key are few: whole numbers that are too large to
    /// differ as floating-point numbers.
    private enum Key: Hashable {
        case number(Double)
        case text(String)
        case data(Data)
        case reference(String)
        case place(Double, Double)

        init?(_ value: ServiceValue) {
            switch value {
            case .int64(let number), .timestamp(let number): self = .number(Double(number))
            case .double(let number): self = .number(number)
            // The bytes, because texts compare by them: Swift takes other spellings for the same.
            case .string(let text): self = .data(Data(text.utf8))
            case .bytes(let data): self = .data(data)
            case .reference(let reference): self = .reference(reference.recordName)
            case .location(let place): self = .place(place.latitude, place.longitude)
            case .null, .asset, .list, .unknown: return nil
            }
        }
    }

    private var buckets: [Key: [ServiceValue]] = [:]
    /// Values without a key.
    private var others: [ServiceValue] = []

    init(_ values: [ServiceValue]) {
        for value in values {
            guard let key = Key(value) else {
                others.append(value)
                continue
            }
            let bucket = buckets[key] ?? []
            if !bucket.contains(where: { ValueOrder.isEqual($0, value) }) {
                buckets[key] = bucket + [value]
            }
        }
    }

    /// Whether one of the values is equal to another one.
    func contains(_ value: ServiceValue) -> Bool {
        guard let key = Key(value) else {
            return others.contains { ValueOrder.isEqual($0, value) }
        }
        return buckets[key]?.contains { ValueOrder.isEqual($0, value) } ?? false
    }

    /// Whether each of the values is equal to one of others.
    func isSubset(of values: [ServiceValue]) -> Bool {
        let found = ValueSet(values)
        return others.allSatisfy { other in values.contains { ValueOrder.isEqual($0, other) } }
            && buckets.values.allSatisfy { $0.allSatisfy(found.contains) }
    }
}
