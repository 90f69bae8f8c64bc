import CloudKitWire
import Foundation

/// Decides whether a record is one that a query asks for.
struct FilterEvaluator {
    let filters: [WireFilter]

    /// Whether all filters hold.
    ///
    /// - Throws: `BAD_REQUEST` where a field can't be compared because it is encrypted.
    func matches(_ record: QueriedRecord) throws -> Bool {
        for filter in filters where try !holds(filter, record) { return false }
        return true
    }

    private func holds(_ filter: WireFilter, _ record: QueriedRecord) throws -> Bool {
        if case .field(let name) = filter.name, record.fields[name]?.isEncrypted == true {
            throw WireError(.badRequest, "Field '\(name)' is encrypted and not queryable")
        }
        let value = record.value(filter.name)
        guard let operand = filter.value else {
            switch filter.comparator {
            case .equals: return value == nil
            case .notEquals: return value != nil
            default: throw WireError(.badRequest, "\(filter.comparator.rawValue) takes a value.")
            }
        }
        guard let positive = filter.comparator.positive else {
            return try value.map { try holds(filter.comparator, $0, operand, filter) } ?? false
        }
        return try !(value.map { try holds(positive, $0, operand, filter) } ?? false)
    }

    private func holds(
        _ comparator: WireFilter.Comparator, _ value: WireValue, _ operand: WireValue,
        _ filter: WireFilter
    ) throws -> Bool {
        func contains(_ values: [WireValue], _ value: WireValue) -> Bool {
            values.contains { ValueOrder.isEqual($0, value) }
        }
        switch comparator {
        case .equals: return ValueOrder.isEqual(value, operand)
        case .lessThan: return ValueOrder.compare(value, operand) == .orderedAscending
        case .lessThanOrEquals:
            let order = ValueOrder.compare(value, operand)
            return order == .orderedAscending || order == .orderedSame
        case .greaterThan: return ValueOrder.compare(value, operand) == .orderedDescending
        case .greaterThanOrEquals:
            let order = ValueOrder.compare(value, operand)
            return order == .orderedDescending || order == .orderedSame
        case .near:
            guard case .location(let place) = operand, let distance = filter.distance else {
                throw WireError(.badRequest, "NEAR takes a location and a distance in metres.")
            }
            guard case .location(let here) = value else { return false }
            return ValueOrder.distance(here, place) <= distance
        case .containsAllTokens: return operand.tokens.isSubset(of: value.tokens)
        case .containsAnyTokens: return !operand.tokens.isDisjoint(with: value.tokens)
        case .isIn: return contains(operand.elements, value)
        case .listContains: return contains(value.elements, operand)
        case .listContainsAny: return operand.elements.contains { contains(value.elements, $0) }
        case .listContainsAll: return operand.elements.allSatisfy { contains(value.elements, $0) }
        case .beginsWith: return Self.starts(value, with: operand)
        case .listMemberBeginsWith:
            return value.elements.contains { Self.starts($0, with: operand) }
        case .notEquals, .notIn, .notListContains, .notListContainsAny, .notListContainsAll,
            .notBeginsWith, .notListMemberBeginsWith:
            preconditionFailure("A negative comparator is evaluated by its positive one.")
        }
    }

    private static func starts(_ value: WireValue, with operand: WireValue) -> Bool {
        guard case .string(let text) = value, case .string(let start) = operand else {
            return false
        }
        return text.utf8.starts(with: start.utf8)
    }
}

extension WireFilter.Comparator {
    /// The comparator that this one is the opposite of; nil where it is none's.
    fileprivate var positive: WireFilter.Comparator? {
        switch self {
        case .notEquals: .equals
        case .notIn: .isIn
        case .notListContains: .listContains
        case .notListContainsAny: .listContainsAny
        case .notListContainsAll: .listContainsAll
        case .notBeginsWith: .beginsWith
        case .notListMemberBeginsWith: .listMemberBeginsWith
        default: nil
        }
    }
}

/// A record whose fields were read.
struct QueriedRecord {
    let record: StoredRecord
    let zoneName: String
    let fields: WireFields

    init(_ record: StoredRecord, zoneName: String) throws(HubFailure) {
        self.record = record
        self.zoneName = zoneName
        fields = try record.fields()
    }

    /// The value of a field, or of what the hub keeps about the record.
    func value(_ name: WireFieldName) -> WireValue? {
        switch name {
        case .field(let name): return fields[name]?.value
        case .system(.recordName): return Self.reference(record.recordName)
        case .system(.createdUserRecordName): return Self.reference(record.createdBy)
        case .system(.modifiedUserRecordName): return Self.reference(record.modifiedBy)
        case .system(.parent): return Self.reference(record.parent)
        case .system(.share): return nil
        case .system(.createdTimestamp): return .timestamp(record.created)
        case .system(.modifiedTimestamp): return .timestamp(record.modified)
        }
    }

    private static func reference(_ name: String) -> WireValue? {
        name.isEmpty ? nil : .reference(WireReference(recordName: name))
    }
}
