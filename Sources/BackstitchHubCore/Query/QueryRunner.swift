import BackstitchCore
import CloudKitWire
import Foundation

/// Finds the records that a query asks for.
///
/// All records of the type are read. Of those that match, no more is kept than the page needs: if
/// they are sorted, their names and what they are sorted by.
struct QueryRunner {
    let query: ServiceQuery
    let marker: QueryMarker?
    /// The most records of the page.
    let count: Int
    let limits: HubLimits
    private let evaluator: FilterEvaluator

    /// A page of a query.
    struct Page {
        struct Entry {
            var record: StoredRecord
            var zoneName: String
            /// What it was sorted by.
            var values: [ServiceValue?]

            /// Where a page begins that comes after it.
            var marker: String {
                QueryMarker(values: values, zoneName: zoneName, recordName: record.recordName).text
            }
        }

        var entries: [Entry] = []
        /// Whether there are more records than those.
        var hasMore = false
    }

    private struct Match {
        var zone: ZoneRow
        var recordName: String
        var values: [ServiceValue?]
    }

    /// The matches that come first in the order.
    private struct Candidates {
        var matches: [Match] = []
        /// Whether there are more than those.
        var isCut = false
    }

    init(
        query: ServiceQuery, marker: String?, count: Int, limits: HubLimits
    ) throws(WireError) {
        guard ServiceNames.isIdentifier(query.recordType) else {
            throw WireError(
                .badRequest, "A recordType starts with a letter and has letters, digits and _.")
        }
        guard query.filters.count <= limits.filtersPerQuery else {
            throw WireError(
                .limitExceeded, "A query has at most \(limits.filtersPerQuery) filters.")
        }
        guard query.sorts.count <= limits.sortsPerQuery else {
            throw WireError(
                .limitExceeded, "A query has at most \(limits.sortsPerQuery) sort keys.")
        }
        self.query = query
        self.count = count
        self.limits = limits
        evaluator = try FilterEvaluator(filters: query.filters)
        self.marker = try marker.map { text throws(WireError) in try QueryMarker(text: text) }
        if let marker = self.marker, marker.values.count != query.sorts.count {
            throw WireError(.badRequest, "The continuationMarker is one of another query.")
        }
    }

    /// How many records are enough, if no more than the page and one behind it are looked at.
    private var partMax: Int {
        query.sorts.isEmpty && query.filters.isEmpty ? count + 1 : .max
    }

    /// What is read first of a zone.
    func expected(in place: ZonePlace, _ zoneName: String) -> KeyQuery {
        let prefix = place.key(.type).adding(hashed: query.recordType)
        return .part(
            of: prefix, from: start(in: zoneName, prefix), countMax: partMax,
            namesUnder: place.key(.record))
    }

    /// Runs the query on zones, which are in the order of their names.
    func run(
        _ zones: [ZoneRow], in partition: Partition, _ transaction: any HubReading
    ) throws -> Page {
        query.sorts.isEmpty
            ? try list(zones, partition, transaction) : try sort(zones, partition, transaction)
    }

    /// The records by zone and name, as far as they fit.
    private func list(
        _ zones: [ZoneRow], _ partition: Partition, _ transaction: any HubReading
    ) throws -> Page {
        var page = Page()
        var bytes = 0
        for zone in zones {
            try visit(zone, partition, transaction) { queried in
                let record = queried.record
                guard isBehindMarker([], zone, record.recordName) else { return true }
                guard page.entries.count < count, bytes < limits.pageBytes else {
                    page.hasMore = true
                    return false
                }
                bytes += record.fieldsJSON.count
                page.entries.append(
                    Page.Entry(record: record, zoneName: zone.zoneName, values: []))
                return true
            }
            if page.hasMore { break }
        }
        return page
    }

    /// The records by the sort keys, as far as they fit.
    private func sort(
        _ zones: [ZoneRow], _ partition: Partition, _ transaction: any HubReading
    ) throws -> Page {
        var candidates = Candidates()
        for zone in zones {
            try visit(zone, partition, transaction) { queried in
                let values = query.sorts.map { value(queried, $0) }
                let name = queried.record.recordName
                guard isBehindMarker(values, zone, name) else { return true }
                candidates.matches.append(Match(zone: zone, recordName: name, values: values))
                if candidates.matches.count > 2 * (count + 1) {
                    try prune(&candidates, transaction.work)
                }
                return true
            }
        }
        try prune(&candidates, transaction.work)
        return try page(of: candidates, partition, transaction)
    }

    private func page(
        of candidates: Candidates, _ partition: Partition, _ transaction: any HubReading
    ) throws -> Page {
        var page = Page()
        var bytes = 0
        transaction.expect {
            candidates.matches.prefix(count).map {
                .key(StoredRecord.key($0.zone.place(in: partition), $0.recordName))
            }
        }
        for match in candidates.matches {
            guard page.entries.count < count, bytes < limits.pageBytes else { break }
            let view = StoredZoneView(
                transaction: transaction, place: match.zone.place(in: partition), now: 0)
            guard let record = try view.record(match.recordName) else { continue }
            bytes += record.fieldsJSON.count
            page.entries.append(
                Page.Entry(record: record, zoneName: match.zone.zoneName, values: match.values))
        }
        page.hasMore = candidates.isCut || page.entries.count < candidates.matches.count
        return page
    }

    /// Visits the records of the type for which all filters hold, by name, until the closure returns
    /// false.
    private func visit(
        _ zone: ZoneRow, _ partition: Partition, _ transaction: any HubReading,
        _ body: (QueriedRecord) throws -> Bool
    ) throws {
        let place = zone.place(in: partition)
        let prefix = place.key(.type).adding(hashed: query.recordType)
        let view = StoredZoneView(transaction: transaction, place: place, now: 0)
        try unsafe transaction.scanInParts(
            prefix, from: start(in: zone.zoneName, prefix), countMax: partMax,
            namesUnder: place.key(.record)
        ) { key, _ in
            let name = unsafe key.text(behind: prefix)
            guard let record = try view.record(name), !record.isDeleted,
                record.recordType == query.recordType
            else { return true }
            let queried = try QueriedRecord(record, zoneName: zone.zoneName)
            guard try evaluator.matches(queried, transaction.work) else { return true }
            return try body(queried)
        }
    }

    /// Where the scan of a zone begins: at the marker, if records come by name.
    private func start(in zoneName: String, _ prefix: HubKey) -> HubKey? {
        guard query.sorts.isEmpty, let marker, marker.zoneName == zoneName else { return nil }
        return prefix.adding(marker.recordName.utf8.prefix(255))
    }

    private func value(_ record: QueriedRecord, _ sort: ServiceSort) -> ServiceValue? {
        let value = record.value(sort.name)
        guard let place = sort.relativeLocation else {
            return value?.sortKey(bytesMax: limits.sortedBytes)
        }
        guard case .location(let here) = value else { return nil }
        return .double(ValueOrder.distance(here, place))
    }

    /// Sorts, and keeps the page and one record behind it.
    private func prune(_ candidates: inout Candidates, _ work: RequestWork) throws {
        candidates.matches.sort {
            work.countComparisons()
            return isBefore($0.values, $0.zone.zoneName, $0.recordName, $1)
        }
        let excess = candidates.matches.count - count - 1
        if excess > 0 {
            candidates.matches.removeLast(excess)
            candidates.isCut = true
        }
        try work.check()
    }

    private func isBehindMarker(
        _ values: [ServiceValue?], _ zone: ZoneRow, _ recordName: String
    ) -> Bool {
        guard let marker else { return true }
        return isBefore(
            marker.values.map(\.value), marker.zoneName, marker.recordName,
            Match(zone: zone, recordName: recordName, values: values))
    }

    /// Whether a position is before a match; null is the least.
    private func isBefore(
        _ values: [ServiceValue?], _ zoneName: String, _ recordName: String, _ match: Match
    ) -> Bool {
        for (index, sort) in query.sorts.enumerated() {
            let order: ComparisonResult
            switch (values[index], match.values[index]) {
            case (nil, nil): order = .orderedSame
            case (nil, _?): order = .orderedAscending
            case (_?, nil): order = .orderedDescending
            case (let left?, let right?): order = ValueOrder.order(left, right)
            }
            if order == .orderedSame { continue }
            return (order == .orderedAscending) == sort.isAscending
        }
        if zoneName != match.zone.zoneName {
            return zoneName.utf8.lexicographicallyPrecedes(match.zone.zoneName.utf8)
        }
        return recordName.utf8.lexicographicallyPrecedes(match.recordName.utf8)
    }
}

extension ServiceValue {
    /// What of the value counts in an order: of text and data the start, of a list that it is one.
    fileprivate func sortKey(bytesMax: Int) -> ServiceValue {
        switch self {
        case .string(let text) where text.utf8.count > bytesMax:
            var end = text.utf8.index(text.utf8.startIndex, offsetBy: bytesMax)
            while end.samePosition(in: text.unicodeScalars) == nil, end > text.utf8.startIndex {
                end = text.utf8.index(before: end)
            }
            return .string(String(text[..<end]))
        case .bytes(let data) where data.count > bytesMax: return .bytes(data.prefix(bytesMax))
        case .list(_, let type): return .list([], of: type)
        case .reference(let reference):
            return .reference(
                ServiceReference(recordName: reference.recordName, action: .unspecified))
        case .asset: return .asset(ServiceAsset())
        case .null, .string, .int64, .double, .timestamp, .bytes, .location, .unknown: return self
        }
    }
}
