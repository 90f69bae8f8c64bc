import BackstitchCore
import CloudKitWire
import Foundation

/// Decides whether a record is one that a query asks for.
///
/// What filters compare with is made ready once, so that a record costs as much as the record has, and
/// not as much as the query.
struct FilterEvaluator {
    private let filters: [PreparedFilter]

    /// - Throws: `BAD_REQUEST` if a filter lacks what its comparator takes.
    init(filters: [ServiceFilter]) throws(WireError) {
        self.filters = try filters.map { filter throws(WireError) in try PreparedFilter(filter) }
    }

    /// Whether all filters hold.
    ///
    /// - Throws: `BAD_REQUEST` if a field can't be compared because it is encrypted.
    func matches(_ record: QueriedRecord, _ work: RequestWork) throws -> Bool {
        for filter in filters {
            try work.step()
            work.countComparisons()
            if try !filter.holds(for: record, work) { return false }
        }
        return true
    }
}

/// A filter whose operand is ready to be compared with.
private struct PreparedFilter {
    private enum Test {
        case isAbsent
        case order(ServiceValue, [ComparisonResult])
        case near(ServiceLocation, Double)
        case allTokens(Set<String>)
        case anyToken(Set<String>)
        case isIn(ValueSet)
        case listContains(ServiceValue)
        case listContainsAny(ValueSet)
        case listContainsAll(ValueSet)
        case begins(ServiceValue)
        case memberBegins(ServiceValue)
    }

    private let name: ServiceFieldName
    private let test: Test
    private let isNegative: Bool

    init(_ filter: ServiceFilter) throws(WireError) {
        name = filter.name
        guard let operand = filter.value else {
            switch filter.comparator {
            case .equals: isNegative = false
            case .notEquals: isNegative = true
            default: throw WireError(.badRequest, "\(filter.comparator.rawValue) takes a value.")
            }
            test = .isAbsent
            return
        }
        isNegative = filter.comparator.positive != nil
        switch filter.comparator.positive ?? filter.comparator {
        case .equals: test = .order(operand, [.orderedSame])
        case .lessThan: test = .order(operand, [.orderedAscending])
        case .lessThanOrEquals: test = .order(operand, [.orderedAscending, .orderedSame])
        case .greaterThan: test = .order(operand, [.orderedDescending])
        case .greaterThanOrEquals: test = .order(operand, [.orderedDescending, .orderedSame])
        case .near:
            guard case .location(let place) = operand, let distance = filter.distance else {
                throw WireError(.badRequest, "NEAR takes a location and a distance in metres.")
            }
            test = .near(place, distance)
        case .containsAllTokens: test = .allTokens(operand.tokens)
        case .containsAnyTokens: test = .anyToken(operand.tokens)
        case .isIn: test = .isIn(ValueSet(operand.elements))
        case .listContains: test = .listContains(operand)
        case .listContainsAny: test = .listContainsAny(ValueSet(operand.elements))
        case .listContainsAll: test = .listContainsAll(ValueSet(operand.elements))
        case .beginsWith: test = .begins(operand)
        case .listMemberBeginsWith: test = .memberBegins(operand)
        case .notEquals, .notIn, .notListContains, .notListContainsAny, .notListContainsAll,
            .notBeginsWith, .notListMemberBeginsWith:
            preconditionFailure("A negative comparator is evaluated by its positive one.")
        }
    }

    func holds(for record: QueriedRecord, _ work: RequestWork) throws -> Bool {
        if case .field(let name) = name, record.fields[name]?.isEncrypted == true {
            throw WireError(.badRequest, "Field '\(name)' is encrypted and not queryable")
        }
        let value = record.value(name)
        if case .isAbsent = test { return (value == nil) != isNegative }
        guard let value else { return isNegative }
        return try holds(value, record, work) != isNegative
    }

    private func holds(
        _ value: ServiceValue, _ record: QueriedRecord, _ work: RequestWork
    ) throws -> Bool {
        switch test {
        case .isAbsent: return false
        case .order(let operand, let wanted):
            if wanted == [.orderedSame] { return ValueOrder.isEqual(value, operand) }
            return ValueOrder.compare(value, operand).map { wanted.contains($0) } ?? false
        case .near(let place, let distance):
            guard case .location(let here) = value else { return false }
            return ValueOrder.distance(here, place) <= distance
        case .allTokens(let wanted):
            let tokens = record.tokens(of: name, value)
            work.countComparisons(min(wanted.count, tokens.count))
            return wanted.count <= tokens.count && wanted.isSubset(of: tokens)
        case .anyToken(let wanted):
            let tokens = record.tokens(of: name, value)
            work.countComparisons(min(wanted.count, tokens.count))
            return wanted.count < tokens.count
                ? !wanted.isDisjoint(with: tokens) : !tokens.isDisjoint(with: wanted)
        case .isIn(let set): return set.contains(value)
        case .listContains(let operand):
            work.countComparisons(value.elements.count)
            return value.elements.contains { ValueOrder.isEqual($0, operand) }
        case .listContainsAny(let set):
            work.countComparisons(value.elements.count)
            return value.elements.contains { set.contains($0) }
        case .listContainsAll(let set):
            work.countComparisons(value.elements.count)
            return set.isSubset(of: value.elements)
        case .begins(let start): return Self.starts(value, with: start)
        case .memberBegins(let start):
            work.countComparisons(value.elements.count)
            return value.elements.contains { Self.starts($0, with: start) }
        }
    }

    private static func starts(_ value: ServiceValue, with operand: ServiceValue) -> Bool {
        guard case .string(let text) = value, case .string(let start) = operand else {
            return false
        }
        return text.utf8.starts(with: start.utf8)
    }
}

extension ServiceFilter.Comparator {
    /// The comparator whose opposite this one is; nil if this one is no opposite.
    fileprivate var positive: ServiceFilter.Comparator? {
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
