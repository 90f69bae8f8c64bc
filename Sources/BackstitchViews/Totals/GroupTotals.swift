public import BackstitchCore
import BackstitchLog
public import BackstitchStore

/// The totals of one group.
public struct GroupTotals<Group: AttributeValue, Number: SummableValue>: Sendable {
    /// The value that the records of the group share.
    public let group: Group
    /// The number of records.
    public let count: Int
    /// The number of records whose number is not nil.
    public let numbers: Int
    /// The exact sum, rounded once if it is a double.
    public let sum: Number._Sum
    /// The mean of the numbers; nil if there are no numbers.
    public let average: Number._Average?
}

extension GroupTotals: Equatable
where Group: Equatable, Number._Sum: Equatable, Number._Average: Equatable {}

extension ProjectionView {
    /// The totals of a group; nil if it has no records.
    ///
    /// - Throws: `invalidQuery` if a sum of integers leaves 64 bits.
    public func totals<Model: Entity, Group: AttributeValue, Number: SummableValue>(
        of group: Group
    ) throws -> GroupTotals<Group, Number>? where Source == GroupedTotals<Model, Group, Number> {
        let key = Source.entry(try Source.key(of: group._recordValue))
        return try value(for: key).map { try Source.totals($0) }
    }

    /// The totals of all groups, in the order of their values.
    ///
    /// - Throws: `invalidQuery` if a sum of integers leaves 64 bits.
    public func totals<Model: Entity, Group: AttributeValue, Number: SummableValue>()
        throws -> [GroupTotals<Group, Number>] where Source == GroupedTotals<Model, Group, Number>
    {
        var all: [GroupTotals<Group, Number>] = []
        try forEach(startingWith: Source.entries) { _, value in
            all.append(try Source.totals(value))
            return true
        }
        return all
    }

    /// The least number of a group, or nil if it has none.
    ///
    /// - Throws: `invalidQuery` if the projection does not keep extremes.
    public func minimum<Model: Entity, Group: AttributeValue, Number: SummableValue>(
        of group: Group
    ) throws -> Number._Sum? where Source == GroupedTotals<Model, Group, Number> {
        try extreme(of: group, last: false)
    }

    /// The greatest number of a group, or nil if it has none.
    ///
    /// - Throws: `invalidQuery` if the projection does not keep extremes.
    public func maximum<Model: Entity, Group: AttributeValue, Number: SummableValue>(
        of group: Group
    ) throws -> Number._Sum? where Source == GroupedTotals<Model, Group, Number> {
        try extreme(of: group, last: true)
    }

    private func extreme<Model: Entity, Group: AttributeValue, Number: SummableValue>(
        of group: Group, last: Bool
    ) throws -> Number._Sum? where Source == GroupedTotals<Model, Group, Number> {
        guard projection.keepsExtremes else {
            throw StoreError(
                .invalidQuery,
                "The projection '\(projection.name)' does not know the least and the greatest. Make "
                    + "it with keepsExtremes, and give it another version.")
        }
        var found: RecordValue?
        let prefix = Source.extremes(try Source.key(of: group._recordValue))
        try forEach(startingWith: prefix, reversed: last) { _, value in
            found = try StoredTotals.values(in: value, count: 1)[0]
            return false
        }
        return try found.map { try Number._Sum(value: $0) }
    }
}

extension GroupedTotals {
    fileprivate static func totals(_ bytes: [UInt8]) throws -> GroupTotals<Group, Number> {
        let stored = try StoredTotals(bytes, of: Number._attributeType)
        let mean = stored.sum.mean(of: Int(stored.numbers), Number._attributeType)
        return GroupTotals(
            group: try Group(value: stored.group), count: Int(stored.count),
            numbers: Int(stored.numbers),
            sum: try Number._Sum(value: stored.sum.total(of: Number._attributeType)),
            average: mean == .null ? nil : try Number._Average(value: mean))
    }
}
