public import Foundation

/// A query by entity and attribute names, for code without Swift types.
///
/// It means the same as a ``Query``. Names, types and counts are checked when it is run.
public struct RecordQuery: Hashable, Sendable {
    /// The name of the entity whose records are asked for.
    public let entity: String
    /// What is asked of the records, but for their zone.
    package private(set) var tests: [BackstitchCore.Condition] = []
    /// The zone whose records are asked for; nil for all.
    package var zone: RecordID.Zone?
    /// What the answer is sorted by; records that are equal in all of it are in key order.
    package private(set) var sortSteps: [SortStep] = []
    /// The most records of the answer, or nil for no limit.
    package private(set) var limitCount: Int?
    /// The records at the start of the answer that are left out.
    package private(set) var offsetCount = 0

    /// All records of an entity, in the order of their record keys.
    public init(entity: String) {
        self.entity = entity
    }

    /// What all records of the answer have in common.
    package var conditions: [BackstitchCore.Condition] {
        zone.map { $0.conditions + tests } ?? tests
    }

    /// The query for the records of one zone; the last zone that is given counts.
    ///
    /// Without it a query asks for the records of all zones of the store. In the order of record keys those of the
    /// own zone come first. A zone that the store does not have gives no records.
    /// - Complexity: Where all records are looked at, only those of the zone are; where an index leads to records,
    ///   those of other zones are read and left out.
    public func `in`(_ zone: RecordID.Zone) -> RecordQuery {
        var query = self
        query.zone = zone
        return query
    }

    /// The query for only those records for which a condition holds too.
    public func `where`(_ condition: Condition) -> RecordQuery {
        adding(condition.condition)
    }

    /// The query with its answer sorted by an attribute, after what it is sorted by already.
    ///
    /// Records without a value come first, or last if the order is reversed. Records that are
    /// equal in all attributes given are in the order of their record keys. Lists and places have
    /// no order, and fail when the query is run. Names with dots lead over references to an attribute
    /// of another record, which is nil if the reference leads to no record. `fold(name)` sorts a text
    /// without case and accents.
    public func sorted(by attribute: String, order: SortOrder = .forward) -> RecordQuery {
        adding(SortStep(attribute, isReversed: order == .reverse))
    }

    /// The query with its answer sorted by record key, after what it is sorted by already.
    public func sortedByKey(order: SortOrder = .forward) -> RecordQuery {
        adding(SortStep(nil, isReversed: order == .reverse))
    }

    /// The query for at most `count` records. A negative count fails when the query is run.
    public func limit(_ count: Int) -> RecordQuery {
        var query = self
        query.limitCount = count
        return query
    }

    /// The query without the first `count` records of its answer. A negative count fails when the
    /// query is run.
    public func offset(_ count: Int) -> RecordQuery {
        var query = self
        query.offsetCount = count
        return query
    }

    /// The query without an order of its own.
    package var unsorted: RecordQuery {
        var query = self
        query.sortSteps = []
        return query
    }

    package func adding(_ condition: BackstitchCore.Condition) -> RecordQuery {
        var query = self
        query.tests.append(condition)
        return query
    }

    package func adding(_ step: SortStep) -> RecordQuery {
        var query = self
        query.sortSteps.append(step)
        return query
    }
}
