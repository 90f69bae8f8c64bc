import BackstitchCore
import CloudKitWire
import Foundation

/// Finds the records that a query asks for.
///
/// All records of the type are read; of those that match, no more are kept than the page has.
struct QueryRunner {
    let query: WireQuery
    let marker: QueryMarker?
    /// The most records of the page.
    let count: Int

    private struct Match {
        var record: StoredRecord
        var zoneName: String
        var values: [WireValue?]
    }

    init(query: WireQuery, marker: String?, count: Int) throws(WireError) {
        guard ServiceNames.isIdentifier(query.recordType) else {
            throw WireError(.badRequest, "The recordType is no name of one.")
        }
        self.query = query
        self.count = count
        self.marker = try marker.map { text throws(WireError) in try QueryMarker(text: text) }
        if let marker = self.marker, marker.values.count != query.sorts.count {
            throw WireError(.badRequest, "The continuationMarker is one of another query.")
        }
    }

    /// Runs the query on zones, which are in the order of their names.
    func run(
        _ zones: [ZoneRow], _ transaction: any HubReading
    ) throws -> (records: [(StoredRecord, zoneName: String)], marker: String?) {
        var matches: [Match] = []
        for zone in zones {
            try run(zone, transaction, &matches)
            // Without an order by fields, records come by zone and name, and enough is enough.
            if query.sorts.isEmpty, matches.count > count { break }
        }
        prune(&matches)
        let page = matches.prefix(count)
        var next: String?
        if matches.count > count, let last = page.last {
            next =
                QueryMarker(
                    values: last.values, zoneName: last.zoneName,
                    recordName: last.record.recordName
                ).text
        }
        return (page.map { ($0.record, $0.zoneName) }, next)
    }

    private func run(
        _ zone: ZoneRow, _ transaction: any HubReading, _ matches: inout [Match]
    ) throws {
        let prefix = HubKey(.type).adding(zone.number).adding(hashed: query.recordType)
        let view = StoredZoneView(transaction: transaction, zone: zone.number, now: 0)
        let evaluator = FilterEvaluator(filters: query.filters)
        var found = matches
        try transaction.scan(prefix, from: start(in: zone, prefix)) { key, _ in
            let name = key.text(behind: prefix)
            guard let record = try view.record(name), !record.isDeleted,
                record.recordType == query.recordType
            else { return true }
            let queried = try QueriedRecord(record, zoneName: zone.zoneName)
            guard try evaluator.matches(queried) else { return true }
            let match = Match(
                record: record, zoneName: zone.zoneName,
                values: query.sorts.map { Self.value(queried, $0) })
            guard isBehindMarker(match) else { return true }
            found.append(match)
            if query.sorts.isEmpty { return found.count <= count }
            if found.count > 4 * (count + 1) { prune(&found) }
            return true
        }
        matches = found
    }

    /// Where the scan of a zone begins: at the marker, where records come by name.
    private func start(in zone: ZoneRow, _ prefix: HubKey) -> HubKey? {
        guard query.sorts.isEmpty, let marker, marker.zoneName == zone.zoneName else { return nil }
        return prefix.adding(marker.recordName.utf8.prefix(255))
    }

    private static func value(_ record: QueriedRecord, _ sort: WireSort) -> WireValue? {
        let value = record.value(sort.name)
        guard let place = sort.relativeLocation else { return value }
        guard case .location(let here) = value else { return nil }
        return .double(ValueOrder.distance(here, place))
    }

    /// Sorts, and keeps the page and one record behind it.
    private func prune(_ matches: inout [Match]) {
        matches.sort { isBefore($0.values, $0.zoneName, $0.record.recordName, $1) }
        if matches.count > count + 1 { matches.removeLast(matches.count - count - 1) }
    }

    private func isBehindMarker(_ match: Match) -> Bool {
        guard let marker else { return true }
        return isBefore(
            marker.values.map(\.value), marker.zoneName, marker.recordName, match)
    }

    /// Whether a position is before a match; null is the least.
    private func isBefore(
        _ values: [WireValue?], _ zoneName: String, _ recordName: String, _ match: Match
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
        if zoneName != match.zoneName {
            return zoneName.utf8.lexicographicallyPrecedes(match.zoneName.utf8)
        }
        return recordName.utf8.lexicographicallyPrecedes(match.record.recordName.utf8)
    }
}
